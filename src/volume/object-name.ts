/**
 * Names of objects: parts of `[A-Za-z0-9._-]` joined by `/`.
 *
 * A part never begins with a full stop: copying tools and file systems leave hidden files behind, and a volume keeps
 * hidden files of its own. This rules out `.` and `..` too. A part never ends in `.open`, the suffix that a directory
 * volume gives to unsealed objects. Parts are short enough for every file system, with a suffix added. Whole names are
 * short enough for every object store. No object's name is the folder of another object.
 */
import { assert } from '../base/index.ts';

const PART_BYTES_MAX = 200;
const NAME_BYTES_MAX = 900;

/** The suffix of the file of an unsealed object. */
export const OPEN_SUFFIX = '.open';

const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

export function isObjectNamePart(part: string): boolean {
  return PART.test(part) && part.length <= PART_BYTES_MAX && !part.endsWith(OPEN_SUFFIX);
}

export function isObjectName(name: string): boolean {
  return name.length <= NAME_BYTES_MAX && name.split('/').every(isObjectNamePart);
}

export function assertObjectName(name: string): void {
  assert(isObjectName(name), `${JSON.stringify(name)} is not a name of an object`);
}

/** A prefix is the beginning of a name: whole parts, then the first characters of the next part, possibly none. */
export function assertPrefix(prefix: string): void {
  const parts = prefix.split('/');
  const last = parts.pop()!;
  assert(
    parts.every(isObjectNamePart) && (last === '' || PART.test(last)),
    `${JSON.stringify(prefix)} is not a prefix of names`,
  );
}

/** The order of names: by their characters' codes, as object stores list them. */
export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function assertOffset(value: number, what: string): void {
  assert(Number.isSafeInteger(value) && value >= 0, `${what} ${value} is not an offset`);
}
