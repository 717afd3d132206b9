/** The directory that a power cut leaves: what `sync-recorder.ts` has recorded, and nothing else. */
import {
  type BigIntStats,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

export type SyncedFile = { readonly kind: 'file'; readonly mtimeNs: string };
export type SyncedDirectory = {
  readonly kind: 'directory';
  readonly entries: Readonly<Record<string, { readonly id: string; readonly kind: 'file' | 'directory' }>>;
};

export function idOf({ ino, birthtimeNs }: BigIntStats): string {
  return `${ino}-${birthtimeNs}`;
}

/** Builds the tree of the recorded directory `root` at `target`, which must not exist. */
export function buildSyncedTree(record: string, root: string, target: string): void {
  buildDirectory(record, idOf(lstatSync(root, { bigint: true })), target);
}

function buildDirectory(record: string, id: string, target: string): void {
  mkdirSync(target, { mode: 0o700 });
  const facts = factsOf<SyncedDirectory>(record, id);
  // A directory that was never synced itself is there, and empty.
  for (const [name, entry] of Object.entries(facts?.entries ?? {})) {
    if (entry.kind === 'directory') buildDirectory(record, entry.id, join(target, name));
    else buildFile(record, entry.id, join(target, name));
  }
}

function buildFile(record: string, id: string, target: string): void {
  const facts = factsOf<SyncedFile>(record, id);
  // The name of a file whose bytes were never synced.
  if (!facts) {
    writeFileSync(target, '');
    return;
  }
  const [bytes, live] = [join(record, `${id}.bytes`), join(record, `${id}.keep`)];
  const isSame =
    existsSync(live) &&
    String(lstatSync(live, { bigint: true }).mtimeNs) === facts.mtimeNs &&
    readFileSync(live).equals(readFileSync(bytes));
  // Only another name of the same file has exactly its time.
  if (isSame) linkSync(live, target);
  else copyFileSync(bytes, target);
}

function factsOf<Facts>(record: string, id: string): Facts | undefined {
  const path = join(record, `${id}.json`);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Facts) : undefined;
}
