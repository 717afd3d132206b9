/** The values of form fields made from a schema. Only fields that were filled in are sent. Does not use the browser. */
import type { Schema } from './form-schema.ts';

export type Value = string | boolean | Values;
export type Values = { readonly [name: string]: Value };

export type FieldKind = 'text' | 'number' | 'lines' | 'switch' | 'choice' | 'group' | 'none';

export function fieldKindOf(schema: Schema): FieldKind {
  if (choicesOf(schema).length > 0) return 'choice';
  if (schema.type === 'boolean') return 'switch';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  if (schema.type === 'string') return 'text';
  if (schema.type === 'array' && schema.items?.type === 'string') return 'lines';
  return schema.type === 'object' && schema.properties ? 'group' : 'none';
}

/** The values of a schema that is a choice; empty for other schemas. */
export function choicesOf(schema: Schema): string[] {
  const listed = schema.enum ?? schema.anyOf?.map((one) => one.const) ?? [];
  return listed.every((one) => typeof one === 'string') ? (listed as string[]) : [];
}

export function defaultsOf(schema: Schema): Values {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, field]) => {
      const first = schema.required?.includes(name) ? choicesOf(field)[0] : undefined;
      return [name, defaultOf(field) || (first ?? defaultOf(field))];
    }),
  );
}

function defaultOf(field: Schema): Value {
  const given = field.default;
  switch (fieldKindOf(field)) {
    case 'switch':
      return given === true;
    case 'group':
      return defaultsOf(field);
    case 'lines':
      return Array.isArray(given) ? given.join('\n') : '';
    default:
      return typeof given === 'string' || typeof given === 'number' ? String(given) : '';
  }
}

/** The input to send. It leaves out empty fields and unchanged switches, so that the defaults of the server apply. */
export function filledIn(schema: Schema, values: Values): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const value = sent(field, values[name]);
    if (value !== undefined) input[name] = value;
  }
  return input;
}

function sent(field: Schema, value: Value | undefined): unknown {
  if (typeof value === 'boolean') return value === (field.default === true) ? undefined : value;
  if (typeof value === 'object') {
    const group = filledIn(field, value);
    return Object.keys(group).length > 0 ? group : undefined;
  }
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  const kind = fieldKindOf(field);
  if (kind === 'number') return field.unit ? Math.round(Number(text) * field.unit) : Number(text);
  if (kind !== 'lines') return text;
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
