/**
 * Secrets that nobody can guess. They come from the generator of keys of the platform, and not from the random numbers
 * that are handed in elsewhere: a run that can be repeated would repeat its secrets.
 */
import { generateKeySync } from 'node:crypto';

export function newSecretBytes(bytes: number): Buffer {
  return generateKeySync('hmac', { length: bytes * 8 }).export();
}
