/**
 * A digest of values that is equal for equal values. (`serialize` of the platform writes the same number in one of two
 * ways, as the engine happens to keep it.)
 */
import { hash } from 'node:crypto';

export function stateDigest(value: unknown): string {
  return hash('sha1', JSON.stringify(value, plain) ?? '', 'base64');
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (value instanceof Map) return [...value];
  return value instanceof Set ? [...value] : value;
}
