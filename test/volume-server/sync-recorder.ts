/**
 * Preloaded into a volume server (`--import`): records what it syncs, so that a test can take away everything else, as
 * a power cut does. PINAKES_SYNC_RECORD names the directory of the record, PINAKES_SYNC_ROOT the directory that is
 * recorded, all of which counts as synced at the start.
 *
 *     <record>/<id>.bytes     the bytes of a file when it was synced
 *     <record>/<id>.json      what was synced: the time of a file, or the names in a directory
 *     <record>/<id>.keep      another name of the file, so that no other file gets its id
 *
 * An id is the inode with the time of its birth. What a sync makes durable is read before the sync begins, and counts
 * when it has ended.
 */
import {
  copyFileSync,
  fstatSync,
  linkSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { idOf, type SyncedDirectory, type SyncedFile } from './synced-tree.ts';

const record = process.env.PINAKES_SYNC_RECORD!;
let drafts = 0;

function save(id: string, facts: SyncedFile | SyncedDirectory): void {
  const draft = join(record, `draft-${process.pid}-${drafts++}`);
  writeFileSync(draft, JSON.stringify(facts));
  renameSync(draft, join(record, `${id}.json`));
}

function keep(path: string, id: string): void {
  try {
    linkSync(path, join(record, `${id}.keep`));
  } catch {
    // It has the name already, or was removed meanwhile.
  }
}

/** Reads what a sync of this path makes durable. Returns the function that notes it. */
function prepare(path: string, found: ReturnType<typeof fstatSync> & { readonly mtimeNs: bigint }): () => void {
  const id = idOf(found as never);
  if (!found.isDirectory()) {
    const bytes = join(record, `draft-${process.pid}-${drafts++}`);
    copyFileSync(path, bytes);
    keep(path, id);
    return () => {
      renameSync(bytes, join(record, `${id}.bytes`));
      save(id, { kind: 'file', mtimeNs: String(found.mtimeNs) });
    };
  }
  const entries: Record<string, { id: string; kind: 'file' | 'directory' }> = {};
  for (const name of readdirSync(path)) {
    const inner = lstatSync(join(path, name), { bigint: true, throwIfNoEntry: false });
    if (!inner) continue;
    entries[name] = { id: idOf(inner), kind: inner.isDirectory() ? 'directory' : 'file' };
    if (inner.isFile()) keep(join(path, name), idOf(inner));
  }
  return () => save(id, { kind: 'directory', entries });
}

function prepareAll(path: string): void {
  const found = lstatSync(path, { bigint: true });
  if (found.isDirectory()) for (const name of readdirSync(path)) prepareAll(join(path, name));
  prepare(path, found as never)();
}

prepareAll(process.env.PINAKES_SYNC_ROOT!);
{
  await using any = await open(process.env.PINAKES_SYNC_ROOT!);
  const prototype = Object.getPrototypeOf(any) as FileHandle;
  const sync = prototype.sync;
  prototype.sync = async function (this: FileHandle): Promise<void> {
    const path = readlinkSync(`/proc/self/fd/${this.fd}`);
    const note = prepare(path, fstatSync(this.fd, { bigint: true }) as never);
    await sync.call(this);
    note();
  };
}
