/**
 * Checks requests against the schemas of a route. Texts of the query string are converted to numbers and booleans;
 * nothing else is converted.
 */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { badRequest, type HttpProblem } from '../http/problem.ts';

const ADVICE = 'The API is described at /api/openapi.json.';

export type Checked = { readonly value: unknown } | { readonly error: HttpProblem };

/** A check of one part of a request: `querystring`, `params`, `body`. */
export function checkFor(schema: TSchema, part: string): (value: unknown) => Checked {
  const validator = Compile(schema);
  const isText = !part.startsWith('body');
  return (given) => {
    const value = validator.Default(isText ? validator.Convert(given) : given);
    if (validator.Check(value)) return { value };
    const errors = validator.Errors(value);
    // A misspelled name is both unknown and missing. Report it as unknown, so that the misspelling is found.
    const first = errors.find(({ keyword }) => keyword === 'boolean') ?? errors[0];
    const place = `${part === 'querystring' ? 'query' : part}${first?.instancePath ?? ''}`;
    const message = first === undefined ? 'is not valid' : messageOf(first, schema);
    return { error: badRequest(`${place} ${message}`, ADVICE, place) };
  };
}

function messageOf({ keyword, params, message, instancePath }: TLocalizedValidationError, schema: TSchema): string {
  if (keyword === 'boolean') return 'is unknown';
  if (keyword === 'pattern') return `must ${inWords(schema, instancePath) ?? 'have a different form'}`;
  if (keyword === 'enum') return `must be one of ${params.allowedValues.join(', ')}`;
  return keyword === 'required' ? `must have ${params.requiredProperties.join(', ')}` : message;
}

/** The form of a text in words, from its schema. A regular expression would not help most people. */
function inWords(schema: TSchema, instancePath: string): string | undefined {
  let at: unknown = schema;
  for (const name of instancePath.split('/').slice(1)) {
    const { properties, items } = (at ?? {}) as { properties?: Record<string, unknown>; items?: unknown };
    at = properties?.[name] ?? items;
  }
  const words = (at as { 'x-in-words'?: unknown } | undefined)?.['x-in-words'];
  return typeof words === 'string' ? words : undefined;
}
