/**
 * The names in folders, in the order of keys: bytes, and folders with the slash that follows them. A window of them is
 * kept for each folder that was read recently, so that the pages of a list do not read the folder again.
 *
 * The server tells of its own changes, which the windows take in at once. Files that were put into a folder by hand are
 * seen when the time of the folder shows them, and in any case after AGE_MAX_MS.
 *
 * Names are strings with one character a byte, so that comparing them compares bytes.
 */
import { lstat, opendir, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Clock, LruCache } from '../../base/index.ts';
import { isAbsent } from './durable-folders.ts';
import { isKeyPart } from './object-key.ts';

const AGE_MAX_MS = 2000;
/** A folder that changed this shortly before it was read may change again without getting another time. */
const CLOCK_STEP_MS = 100;
/** A window is the part of a folder that is kept in memory. */
const WINDOW_NAMES = 50_000;
const NAMES_KEPT = 500_000;
const READ_AT_ONCE = 1024;

/** The time of no folder. */
const NO_TIME = -1n;

export type NamesWindow = {
  /** In order; folders end with a slash. */
  readonly names: readonly string[];
  /** Whether no more names follow. */
  readonly isLast: boolean;
};

type KeptWindow = NamesWindow & {
  readonly from: string;
  readonly readAt: number;
  /** The time of the folder; undefined after a change by the server, which sets a time that is not known yet. */
  readonly mtimeNs: bigint | undefined;
};

/** `unknown`: something may or may not be there, so what was read must not be kept. */
type NameChange = { readonly name: string; readonly isThere: boolean } | 'unknown';

export class FolderNames {
  readonly #clock: Clock;
  readonly #kept = new LruCache<string, KeptWindow>(NAMES_KEPT, ({ names }) => names.length + 1);
  /** Changes of the server in folders that are being read. */
  readonly #reading = new Map<string, Set<NameChange[]>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Names of a folder from `from` on. A folder that is not there has none. */
  async window(folder: string, from: string): Promise<NamesWindow> {
    const mtimeNs = await timeOf(folder);
    if (mtimeNs === undefined) return { names: [], isLast: true };
    const kept = this.#kept.get(folder);
    const isCurrent =
      kept &&
      this.#clock() - kept.readAt < AGE_MAX_MS &&
      (kept.mtimeNs === undefined || kept.mtimeNs === mtimeNs) &&
      kept.from <= from &&
      (kept.isLast || from <= kept.names.at(-1)!);
    if (!isCurrent) return this.#read(folder, from, mtimeNs);
    if (kept.mtimeNs === undefined) this.#keep(folder, { ...kept, mtimeNs });
    return { names: kept.names.slice(placeOf(kept.names, from)), isLast: kept.isLast };
  }

  /** The server added or removed this file or folder. */
  changed(folder: string, name: string, kind: 'file' | 'folder', isThere: boolean): void {
    // A folder that was removed may have been made again meanwhile, and the two calls may come in any order.
    if (kind === 'folder' && !isThere) {
      for (const changes of this.#reading.get(folder) ?? []) changes.push('unknown');
      this.#kept.forget(folder);
      return;
    }
    this.#change(folder, { name: byteString(name) + (kind === 'folder' ? '/' : ''), isThere });
    // Another call has made the folder of this file, or one above it, and may not have reported it yet.
    if (isThere)
      for (let at = folder; at !== dirname(at); at = dirname(at))
        this.#change(dirname(at), { name: `${byteString(basename(at))}/`, isThere }, true);
  }

  /** `isAbove`: the time of the folder is another one only if the name is new. */
  #change(folder: string, change: Exclude<NameChange, 'unknown'>, isAbove = false): void {
    for (const changes of this.#reading.get(folder) ?? []) changes.push(change);
    const kept = this.#kept.get(folder);
    if (!kept) return;
    const { names } = applied(kept, change);
    if (!isAbove || names !== kept.names) this.#keep(folder, { ...kept, names, mtimeNs: undefined });
  }

  async #read(folder: string, from: string, mtimeNs: bigint): Promise<NamesWindow> {
    const changes: NameChange[] = [];
    const readers = this.#reading.get(folder) ?? new Set();
    this.#reading.set(folder, readers.add(changes));
    try {
      const readAt = this.#clock();
      const isSettled = Number(mtimeNs / 1_000_000n) < readAt - CLOCK_STEP_MS;
      const time = isSettled ? mtimeNs : NO_TIME;
      let window: KeptWindow = { ...(await smallestNames(folder, from)), from, readAt, mtimeNs: time };
      for (const change of changes)
        if (change !== 'unknown') window = { ...window, ...applied(window, change), mtimeNs: undefined };
      if (!changes.includes('unknown')) this.#keep(folder, window);
      return window;
    } catch (cause) {
      if (isAbsent(cause)) return { names: [], isLast: true };
      throw cause;
    } finally {
      readers.delete(changes);
      if (readers.size === 0) this.#reading.delete(folder);
    }
  }

  #keep(folder: string, window: KeptWindow): void {
    this.#kept.forget(folder);
    this.#kept.keep(folder, window);
  }
}

/** A text with one character for each byte of its UTF-8. */
export function byteString(text: string): string {
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');
}

export function fromByteString(bytes: string): string {
  return /^[\x00-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Undefined when there is no folder, or only one behind a symbolic link. */
async function timeOf(folder: string): Promise<bigint | undefined> {
  try {
    if ((await realpath(folder)) !== folder) return undefined;
    const found = await lstat(folder, { bigint: true });
    return found.isDirectory() ? found.mtimeNs : undefined;
  } catch (cause) {
    if (isAbsent(cause)) return undefined;
    throw cause;
  }
}

/** The first names from `from` on, in order. However large the folder is, only a window of it is in memory. */
async function smallestNames(folder: string, from: string): Promise<NamesWindow> {
  let names: string[] = [];
  let isLast = true;
  const cut = () => {
    names.sort(byBytes);
    if (names.length <= WINDOW_NAMES) return;
    names = names.slice(0, WINDOW_NAMES);
    isLast = false;
  };
  for await (const entry of await opendir(folder, { bufferSize: READ_AT_ONCE })) {
    if (!(entry.isFile() || entry.isDirectory()) || !isKeyPart(entry.name)) continue;
    const name = byteString(entry.name) + (entry.isDirectory() ? '/' : '');
    if (name < from) continue;
    names.push(name);
    if (names.length >= 2 * WINDOW_NAMES) cut();
  }
  cut();
  return { names, isLast };
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function applied(
  { names, isLast, from }: KeptWindow,
  { name, isThere }: Exclude<NameChange, 'unknown'>,
): Pick<NamesWindow, 'names'> {
  const isOutside = name < from || (!isLast && name > names.at(-1)!);
  if (isOutside) return { names };
  const at = placeOf(names, name);
  if ((names[at] === name) === isThere) return { names };
  return { names: isThere ? names.toSpliced(at, 0, name) : names.toSpliced(at, 1) };
}

/** The index of the first name that is not before this one. */
function placeOf(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle]! < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
