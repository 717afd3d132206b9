/** Checks what comes in against the schemas of a route: query texts become numbers and booleans where the schema wants those, nothing else is bent. */
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { badRequest, type HttpProblem } from '../problem.ts';

const ADVICE = 'The API is described at /api/openapi.json.';

export type Checked = { readonly value: unknown } | { readonly error: HttpProblem };

/** A check of one part of a request: `querystring`, `params`, `body`. */
export function checkFor(schema: TSchema, part: string): (value: unknown) => Checked {
  const validator = Compile(schema);
  const isText = part !== 'body';
  return (given) => {
    const value = validator.Default(isText ? validator.Convert(given) : given);
    if (validator.Check(value)) return { value };
    const first = validator.Errors(value)[0];
    const place = `${part === 'querystring' ? 'query' : part}${first?.instancePath ?? ''}`;
    const isUnknown = first?.keyword === 'boolean';
    const message = isUnknown ? 'is not known here' : (first?.message ?? 'does not fit');
    return { error: badRequest(`${place} ${message}`, ADVICE, place) };
  };
}
