/** Values out of JSON that somebody else wrote: what is not of the kind that is looked for counts as an empty one. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): JsonObject {
  return value !== null && typeof value === 'object' ? (value as JsonObject) : {};
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first of them. */
export function arrayOf(value: unknown, countMax: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, countMax) : [];
}
