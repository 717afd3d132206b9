/**
 * Seals a small value with a key, so that only holders of the key can read or change it: AES-256-GCM under a key and a
 * nonce that HKDF derives from a salt of its own for each value.
 *
 * ```
 *   salt        16
 *   ciphertext
 *   tag         16
 * ```
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { newSecretBytes } from './secret.ts';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const SALT_BYTES = 16;
const TAG_BYTES = 16;

/** `use` names what the value is for. What was sealed for one use cannot be opened for another. */
export function seal(key: Uint8Array, use: string, value: unknown): string {
  const salt = newSecretBytes(SALT_BYTES);
  const cipher = createCipheriv(ALGORITHM, ...derived(key, use, salt));
  const bytes = [salt, cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(bytes).toString('base64url');
}

/** Undefined when the value was not sealed with this key for this use. */
export function unseal(key: Uint8Array, use: string, text: string): unknown {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length < SALT_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, ...derived(key, use, bytes.subarray(0, SALT_BYTES)));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const sealed = bytes.subarray(SALT_BYTES, -TAG_BYTES);
    return JSON.parse(decipher.update(sealed).toString('utf8') + decipher.final('utf8'));
  } catch {
    return undefined;
  }
}

function derived(key: Uint8Array, use: string, salt: Uint8Array): [key: Uint8Array, nonce: Uint8Array] {
  const bytes = new Uint8Array(hkdfSync('sha256', key, salt, `pinakes ${use}`, KEY_BYTES + NONCE_BYTES));
  return [bytes.subarray(0, KEY_BYTES), bytes.subarray(KEY_BYTES)];
}
