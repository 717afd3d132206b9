/**
 * Which keys of objects can be names of files. Objects are plain files below the folder of their bucket, so each part
 * of a key between slashes is the name of a folder or a file. Names are compared as bytes: case and accents count.
 */
import { createHash } from 'node:crypto';
import type { IdSource } from '../../base/index.ts';
import { S3Error } from './s3-error.ts';

export const KEY_BYTES_MAX = 1024;
const PART_BYTES_MAX = 255;
/** Control characters, and characters that XML cannot express or that stand for unreadable bytes. */
const UNSAFE = /[\x00-\x1f\x7f\ufffd-\uffff]/;
/** What Windows does not allow in names, or understands in its own way. */
const UNSAFE_ON_WINDOWS = /[<>:"\\|?*]|[ .]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Why a key cannot be the name of a file; undefined when it can. */
export function keyProblem(key: string): S3Error | undefined {
  if (Buffer.byteLength(key) > KEY_BYTES_MAX)
    return new S3Error('KeyTooLongError', `Your key is too long: the limit is ${KEY_BYTES_MAX} bytes.`);
  for (const part of key.split('/')) {
    if (Buffer.byteLength(part) > PART_BYTES_MAX)
      return new S3Error('KeyTooLongError', `A part of the key between slashes is over ${PART_BYTES_MAX} bytes long.`);
    const problem = partProblem(part);
    if (problem !== undefined) return new S3Error('InvalidArgument', `Object key unsupported here: ${problem}`);
  }
  return undefined;
}

/** True for names of files in a bucket that are parts of keys. */
export function isKeyPart(name: string): boolean {
  return Buffer.byteLength(name) <= PART_BYTES_MAX && partProblem(name) === undefined;
}

function partProblem(part: string): string | undefined {
  if (part === '') return 'objects are files, so a key cannot begin or end with a slash, or have two in a row.';
  if (part === '.' || part === '..') return 'objects are files, so no part of a key can be "." or "..".';
  if (UNSAFE.test(part)) return 'it has a control character or a character that stands for unreadable bytes.';
  if (process.platform === 'win32' && UNSAFE_ON_WINDOWS.test(part)) return 'Windows cannot have a file of this name.';
  return undefined;
}

/** Why a text is not the name of a bucket; undefined when it is one. */
export function bucketProblem(bucket: string): string | undefined {
  const isName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) && !bucket.includes('..');
  return isName ? undefined : 'the name of a bucket has 3 to 63 lower-case letters, digits, dots and dashes';
}

/** A short name for files about an object. */
export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 40);
}

/** A name of 32 hexadecimal digits that nothing else has. */
export function randomName(newId: IdSource): string {
  return newId().replace(/^<urn:uuid:|[->]/g, '');
}
