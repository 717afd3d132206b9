/**
 * Names of objects: parts of `[A-Za-z0-9._-]` joined by `/`.
 *
 * A part never begins with a full stop, because hidden files are what copying tools and file systems leave about and
 * what a volume keeps for itself; this rules out `.` and `..` too. A part never ends in `.open`, the suffix that a
 * directory volume gives to objects not yet sealed. Parts are short enough for every file system once a suffix is
 * added, and whole names for every object store. No object's name is the folder of another's.
 */
import { assert } from '../base/index.ts';

const PART_BYTES_MAX = 200;
const NAME_BYTES_MAX = 900;

/** What the file of an object that is not sealed ends in. */
export const OPEN_SUFFIX = '.open';

const PART = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

export function isObjectNamePart(part: string): boolean {
  return PART.test(part) && part.length <= PART_BYTES_MAX && !part.endsWith(OPEN_SUFFIX);
}

export function isObjectName(name: string): boolean {
  return name.length <= NAME_BYTES_MAX && name.split('/').every(isObjectNamePart);
}

export function assertObjectName(name: string): void {
  assert(isObjectName(name), `${JSON.stringify(name)} is no name of an object`);
}

/** A prefix is the beginning of a name: whole parts, then letters of the next, possibly none. */
export function assertPrefix(prefix: string): void {
  const parts = prefix.split('/');
  const last = parts.pop()!;
  assert(
    parts.every(isObjectNamePart) && (last === '' || PART.test(last)),
    `${JSON.stringify(prefix)} is no prefix of names`,
  );
}

/** Order of names: by their letters' codes, as object stores list them. */
export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function assertOffset(value: number, what: string): void {
  assert(Number.isSafeInteger(value) && value >= 0, `${what} ${value} is no offset`);
}
