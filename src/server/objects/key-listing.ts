/**
 * The keys of a bucket in the order of their bytes, from any key on. Folders are read only where the keys that are
 * asked for can be. Keys are byte strings here, see `folder-names.ts`.
 */
import { join } from 'node:path';
import { type FolderNames, fromByteString } from './folder-names.ts';
import { isKeyPart, KEY_BYTES_MAX } from './object-key.ts';

/** Comes after every key that begins with the text before it: no byte of UTF-8 is 0xff. */
const AFTER_ALL = '\xff';

export type ListRequest = {
  readonly bucketFolder: string;
  /** Only keys that begin with both. */
  readonly prefix: string;
  readonly rightsPrefix: string;
  readonly delimiter: string;
  /** Only keys after this one. */
  readonly after: string;
  readonly entriesMax: number;
};

export type ListEntry = { readonly kind: 'key' | 'prefix'; readonly text: string };

export type ListPage = {
  readonly entries: readonly ListEntry[];
  /** Where the next page begins; undefined on the last page. */
  readonly next: string | undefined;
};

export async function listKeys(names: FolderNames, request: ListRequest): Promise<ListPage> {
  const { bucketFolder, prefix, rightsPrefix, delimiter, entriesMax } = request;
  const [short, long] = prefix.length < rightsPrefix.length ? [prefix, rightsPrefix] : [rightsPrefix, prefix];
  if (entriesMax === 0 || !long.startsWith(short)) return { entries: [], next: undefined };
  const entries: ListEntry[] = [];
  const bound: KeyBound = { after: request.after };
  for await (const key of keysBelow(names, bucketFolder, long, bound)) {
    const next = bound.after;
    if (entries.length === entriesMax) return { entries, next };
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (end < 0) {
      entries.push({ kind: 'key', text: key });
      bound.after = key;
      continue;
    }
    const common = key.slice(0, end + delimiter.length);
    entries.push({ kind: 'prefix', text: common });
    bound.after = common + AFTER_ALL;
  }
  return { entries, next: undefined };
}

/** Only keys after `after` are wanted. The caller may raise it between two keys. */
type KeyBound = { after: string };

async function* keysBelow(
  names: FolderNames,
  bucketFolder: string,
  prefix: string,
  bound: KeyBound,
): AsyncGenerator<string> {
  const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
  // No folder has such a name, so no key begins with it.
  if (
    !folder
      .split('/')
      .slice(0, -1)
      .every((part) => isKeyPart(fromByteString(part)))
  )
    return;
  yield* keysIn(folder);

  async function* keysIn(folder: string): AsyncGenerator<string> {
    if (folder.length > KEY_BYTES_MAX) return;
    const path = join(bucketFolder, ...fromByteString(folder).split('/').slice(0, -1));
    for (let from = firstName(folder); ; ) {
      const window = await names.window(path, from);
      for (const name of window.names) {
        const whole = folder + name;
        const isAmong = whole.startsWith(prefix) || prefix.startsWith(whole);
        if (!isAmong && whole > prefix) return;
        if (!isAmong) continue;
        if (!name.endsWith('/')) {
          if (whole.startsWith(prefix) && whole > bound.after && whole.length <= KEY_BYTES_MAX) yield whole;
        } else if (whole > bound.after || mayContinueIn(whole)) yield* keysIn(whole);
      }
      if (window.isLast) return;
      from = `${window.names.at(-1)!}\0`;
    }
  }

  /** The first name in a folder that can have wanted keys. */
  function firstName(folder: string): string {
    const wanted = bound.after > prefix ? bound.after : prefix;
    if (!wanted.startsWith(folder)) return '';
    const rest = wanted.slice(folder.length);
    const slash = rest.indexOf('/');
    return slash < 0 ? rest : rest.slice(0, slash + 1);
  }

  function mayContinueIn(folder: string): boolean {
    return bound.after.startsWith(folder) && bound.after[folder.length] !== AFTER_ALL;
  }
}
