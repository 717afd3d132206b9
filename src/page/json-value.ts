/** Reads values from untrusted JSON. A value of another type counts as an empty value. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): JsonObject {
  return value !== null && typeof value === 'object' ? (value as JsonObject) : {};
}

export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The first elements of an array, at most `countMax`. */
export function arrayOf(value: unknown, countMax: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, countMax) : [];
}
