/**
 * Schemas that several routes share. Objects are closed: replies have only the described properties, and requests with
 * other properties are refused.
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

export function countOf(description: string) {
  return Type.Integer({ minimum: 0, description });
}

/** A W3C date, as in WARC files. */
export const W3cDate = Type.String({
  description: 'W3C date in UTC: 2024-03-01T10:00:00Z',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z$',
  'x-in-words': 'be a date and time such as 2024-03-01T10:00:00Z',
});

export const Timestamp = Type.String({
  description: '14 digits: 20240301100000',
  pattern: '^\\d{14}$',
  'x-in-words': 'have 14 digits, such as 20240301100000',
});

/** A time in a request. */
export const TimeInput = Type.String({
  description:
    'For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. The end of a range is the end of that year, month, day or second.',
  minLength: 4,
  maxLength: 40,
});

/** The name of a collection that may be created. */
export const NewCollection = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$',
  'x-in-words':
    'have at most 100 letters (a to z), digits, dots, dashes and underscores, without blanks, and begin with a letter or digit',
});

export const UrlInput = Type.String({ minLength: 1, maxLength: 65_536 });

export const PageCursor = Type.String({
  description: 'The `next` of the page before.',
  minLength: 1,
  maxLength: 100_000,
});

export function limitOf(maximum: number, standard: number) {
  return Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum,
      default: standard,
      description: `The maximum number of items; the default is ${standard}.`,
    }),
  );
}

export const SelectionInput = named(
  'Selection',
  {
    collection: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    url: Type.Optional(UrlInput),
    prefix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 65_536,
        description: 'URLs that begin with this text; *.example.org for a domain and its subdomains.',
      }),
    ),
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 300, description: 'Captures with this content key.' })),
    from: Type.Optional(TimeInput),
    to: Type.Optional(TimeInput),
    mime: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        description: 'A media type: text/html, or image/* for all images.',
      }),
    ),
    status: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 999 }), Type.String({ minLength: 1, maxLength: 300 })], {
        description: 'An HTTP status: 404, or "4xx" for 400 to 499. Separate several with commas.',
      }),
    ),
  },
  'Selects the captures that match every given field.',
);

export type SelectionInput = Static<typeof SelectionInput>;

export const DeletionInput = named(
  'Deletion',
  {
    ...SelectionInput.properties,
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 300,
        description:
          'A content key. Alone, it gives back one reference: it selects the newest capture that was stored without a URL.',
      }),
    ),
    all: Type.Optional(Type.Boolean({ description: 'With a key alone: every capture of the content.' })),
    capture: Type.Optional(Type.String({ minLength: 1, maxLength: 2500, description: 'The id of one capture.' })),
  },
  'Selects the captures to delete: those that match every given field.',
);

export type DeletionInput = Static<typeof DeletionInput>;

export const TakedownInput = closed({
  keys: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
      maxItems: 2000,
      description: 'Keys of contents to bar.',
    }),
  ),
  urls: Type.Optional(Type.Array(UrlInput, { maxItems: 2000, description: 'URLs to bar.' })),
  withContents: Type.Optional(
    Type.Boolean({ description: 'Whether the contents that the URLs have are barred under every URL.' }),
  ),
});

export const TakedownGround = closed({
  reason: Type.String({
    minLength: 1,
    maxLength: 10_000,
    pattern: '\\S',
    description: 'Why, for the log and the receipt.',
  }),
  by: Type.Optional(Type.String({ minLength: 1, maxLength: 500, pattern: '\\S', description: 'Who decided it.' })),
});

export const ErrorReply = closed({
  error: named('Fault', {
    code: Type.String({ description: 'Stable. Programs should check this, not the message.' }),
    message: Type.String(),
    advice: Type.String({ description: 'What you can do about it.' }),
    where: Type.Optional(Type.String()),
    at: Type.Optional(countOf('For a query: the offset of the error, in UTF-16 code units.')),
    length: Type.Optional(countOf('The length of the error, from `at`.')),
  }),
});
