/**
 * The key with which an archive signs its log of takedowns (Ed25519). It is made at first use.
 *
 * ```
 *   takedown-key.pem                        private key, PKCS #8, in the archive's directory; readable by its user only
 *   _pinakes/takedowns/key-<fingerprint>    public key, PEM, in every writable volume
 * ```
 * The fingerprint is the SHA-256 of the public key in DER. An archive that was restored without its private key makes
 * another one; the log shows the change.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, fileError, PinakesError, syncDirectory, toHex } from '../../base/index.ts';

export const KEY_NAME = 'takedown-key.pem';

export class SigningKey {
  readonly fingerprint: string;
  /** The public key, as PEM. */
  readonly publicPem: string;
  readonly #private: KeyObject;

  private constructor(key: KeyObject) {
    const publicKey = createPublicKey(key);
    this.#private = key;
    this.publicPem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
    this.fingerprint = fingerprintOf(publicKey);
  }

  /** The key of an archive. Undefined: it has none yet. */
  static async read(directory: string): Promise<SigningKey | undefined> {
    const path = join(directory, KEY_NAME);
    const pem = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOENT') throw fileError(cause, path);
    });
    if (pem === undefined) return undefined;
    try {
      return new SigningKey(createPrivateKey(pem));
    } catch (cause) {
      const detail = 'the key that signs takedowns cannot be read; put it back from a backup, or move it away';
      throw new PinakesError('TAKEDOWN_LOG_DAMAGED', { where: path, detail, cause });
    }
  }

  static async readOrMake(directory: string): Promise<SigningKey> {
    const known = await SigningKey.read(directory);
    if (known) return known;
    const path = join(directory, KEY_NAME);
    // A key that others could guess or repeat would sign nothing, so it is not made of the ids of the caller.
    const { privateKey } = generateKeyPairSync('ed25519');
    try {
      await using file = await open(path, 'wx', 0o600);
      await file.writeFile(privateKey.export({ type: 'pkcs8', format: 'pem' }));
      await file.sync();
    } catch (cause) {
      throw fileError(cause, path, 'writing');
    }
    await syncDirectory(directory);
    return new SigningKey(privateKey);
  }

  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#private);
  }
}

/** A public key from its PEM text. Undefined: it is not one. */
export function parsePublicKey(pem: string): { readonly key: KeyObject; readonly fingerprint: string } | undefined {
  try {
    const key = createPublicKey(pem);
    return key.asymmetricKeyType === 'ed25519' ? { key, fingerprint: fingerprintOf(key) } : undefined;
  } catch {
    return undefined;
  }
}

export function isSignedBy(key: KeyObject, bytes: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, bytes, key, signature);
}

function fingerprintOf(key: KeyObject): string {
  return toHex(digestOf('sha256', key.export({ type: 'spki', format: 'der' })).bytes);
}
