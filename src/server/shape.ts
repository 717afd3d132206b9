/**
 * Schemas that several routes share. Objects are closed: what is not described is not sent, and what is sent but not
 * described is refused.
 */
import { type Static, type TProperties, Type } from 'typebox';

/** An object with these properties and no others. */
export function closed<P extends TProperties>(properties: P, description?: string) {
  return Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) });
}

/** A closed object that the OpenAPI document lists under this name. */
export function named<P extends TProperties>(name: string, properties: P, description?: string) {
  return Type.Object(properties, {
    title: name,
    additionalProperties: false,
    ...(description !== undefined && { description }),
  });
}

export const Count = Type.Integer({ minimum: 0 });

/** W3C date, as WARC files have it. */
export const When = Type.String({
  description: 'W3C date in UTC: 2024-03-01T10:00:00Z',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$',
  'x-in-words': 'be a date and time such as 2024-03-01T10:00:00Z',
});

export const Timestamp = Type.String({
  description: '14 digits: 20240301100000',
  pattern: '^\\d{14}$',
  'x-in-words': 'have 14 digits, such as 20240301100000',
});

/** A time in a question. */
export const AskedTime = Type.String({
  description:
    'For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. A range ends with the last moment that is meant.',
  minLength: 4,
  maxLength: 40,
});

/** What a collection may be called that is made by this. */
export const NewCollection = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
  'x-in-words':
    'have at most 100 letters (a to z), digits, dots, dashes and underscores, without blanks, and begin with a letter or digit',
});

export const AskedUrl = Type.String({ minLength: 1, maxLength: 65_536 });

export const After = Type.String({
  description: 'Where the page before ended: its `next`.',
  minLength: 1,
  maxLength: 100_000,
});

export function limitOf(most: number, usual: number) {
  return Type.Optional(
    Type.Integer({ minimum: 1, maximum: most, default: usual, description: `At most so many; ${usual} unless told.` }),
  );
}

export const Selection = named(
  'Selection',
  {
    collection: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    url: Type.Optional(AskedUrl),
    prefix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description: 'URLs that begin so; *.example.org for a domain with all below it.',
      }),
    ),
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 300, description: 'Captures of this content key.' })),
    from: Type.Optional(AskedTime),
    to: Type.Optional(AskedTime),
    mime: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'A media type: text/html, or image/* for all of a kind.',
      }),
    ),
    status: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 999 }), Type.String({ minLength: 1, maxLength: 300 })], {
        description: 'An HTTP status: 404, or "4xx" for all from 400 to 499; several with commas between them.',
      }),
    ),
  },
  'Which captures are meant. All that is given must hold.',
);

export type Selection = Static<typeof Selection>;

export const ErrorReply = closed({
  error: named('Fault', {
    code: Type.String({ description: 'Stable: look at this, not at the sentence.' }),
    message: Type.String(),
    advice: Type.String({ description: 'What you can do about it.' }),
    where: Type.Optional(Type.String()),
    at: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a query: where in it, in UTF-16 code units.' })),
    length: Type.Optional(Type.Integer({ minimum: 0, description: 'How much of it, from `at` on.' })),
  }),
});
