/**
 * Brings a mirror up to date: copies what it lacks, writes a manifest, then removes what no kept manifest names.
 *
 * ```
 *   state       the archive at one instant (mirror-state.ts)
 *   copy        what the mirror lacks, read back and compared; sealed segments once, open ones in pieces
 *   manifest    when all that it names is durable; from then on it is what a restore gives
 *   retire      older manifests, then the objects that only these named
 * ```
 * A state from before a deletion is kept for the delay of the mirror. No state is kept from before a takedown, nor one
 * with bytes of what is barred: these leave the mirror at once when the archive is compacted (I6).
 *
 * A state with less than half of the bytes of the one before is refused unless the caller allows it: an archive that
 * lost its segments must not empty its mirror.
 */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  formatW3cDate,
  PinakesError,
  parseW3cDate,
  RunningDigest,
  replaceFile,
  toHex,
  writingFile,
} from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { listedObjects, wholeObject } from '../../ledger/index.ts';
import { MIRRORS_FOLDER, type SyncReport } from '../mirror-status.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { makeDirectory } from '../segment/volume-set.ts';
import { MirrorCopy } from './mirror-copy.ts';
import {
  type AbsentObject,
  formatManifest,
  type MirroredFile,
  type MirroredObject,
  type MirrorManifest,
  manifestName,
  type Piece,
  piecesOf,
  readManifests,
} from './mirror-manifest.ts';
import type { MirrorSetting } from './mirror-setting.ts';
import { type FileCopy, type MirrorState, mirrorState, type OwnObject } from './mirror-state.ts';
import { type MirrorTarget, openTarget } from './mirror-target.ts';

/** Compaction may remove segments while they are copied. Each new state has less left to copy. */
const STATES_MAX = 20;
/** An open segment with more pieces is copied whole. */
const PIECES_MAX = 64;
const SHRUNK_BYTES_MIN = 1024 * 1024;

export type SyncOptions = {
  /** Whether the mirror may become smaller than half. */
  readonly mayShrink?: boolean | undefined;
  readonly onProgress?: ((progress: SyncProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before a manifest is written and before objects are removed. Fails when another machine may sync too. */
  readonly check?: (() => Promise<void>) | undefined;
};

export type SyncProgress = {
  readonly object: string;
  /** Bytes of the state that the mirror has by now, and of the whole state. */
  readonly bytes: number;
  readonly totalBytes: number;
};

export async function syncMirror(
  archive: OpenedArchive,
  setting: MirrorSetting,
  options: SyncOptions = {},
): Promise<SyncReport> {
  await using target = await openTarget(setting, true, archive.openRemote);
  // Another machine of a cluster may have added the mirror.
  await makeDirectory(join(archive.directory, MIRRORS_FOLDER));
  const { manifests, damaged } = await readManifests(target.store);
  const journal = join(archive.directory, MIRRORS_FOLDER, `${setting.name}.jsonl`);
  const copy = await MirrorCopy.open(target, journal, manifests.flatMap(piecesOf));
  const [before] = manifests;
  for (let tried = 1; ; tried++) {
    const state = await mirrorState(archive);
    if (!options.mayShrink && setting.delayMs === 0) refuseShrunk(state, before, target);
    const time = formatW3cDate(archive.clock());
    const sync = new Sync(archive, copy, setting, state, before, options);
    const content = await sync.run().finally(() => removeCopies(state.files));
    if (!content) {
      if (tried < STATES_MAX) continue;
      throw new PinakesError('ARCHIVE_BUSY', { where: target.where, detail: 'segments are compacted again and again' });
    }
    const number = Math.max(0, ...manifests.map((manifest) => manifest.number), ...damaged) + 1;
    const { takedowns, barred, isInterrupted, volumes } = state;
    const manifest: MirrorManifest = {
      number,
      archive: archive.connector.name,
      time,
      takedowns,
      isClean: barred.length === 0 && !isInterrupted,
      volumes: volumes.map(({ name, kind, writable }) => ({ name, kind, writable })),
      ...content,
    };
    await options.check?.();
    await copy.write(manifestName(number), ...sourceOf(formatManifest(manifest)));
    await copy.end();
    await options.check?.();
    const { removed, earlier } = await retire(target, manifest, manifests, setting.delayMs, archive.clock());
    const pieces = piecesOf(manifest);
    const report: SyncReport = {
      number,
      time,
      objects: pieces.length,
      bytes: pieces.reduce((sum, [, bytes]) => sum + bytes, 0),
      copied: copy.copied - 1,
      copiedBytes: copy.copiedBytes,
      removed,
      earlier,
      absent: manifest.absent.length,
      barred,
    };
    const path = join(archive.directory, MIRRORS_FOLDER, `${setting.name}.json`);
    await writingFile(path, async () => replaceFile(path, `${JSON.stringify(report)}\n`));
    return report;
  }
}

function refuseShrunk({ segments }: MirrorState, before: MirrorManifest | undefined, { where }: MirrorTarget): void {
  if (!before) return;
  const now = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const then = before.objects.reduce((sum, { bytes }) => sum + bytes, 0);
  const absent = before.absent.reduce((sum, { bytes }) => sum + bytes, 0);
  if (then + absent - now < SHRUNK_BYTES_MIN || now >= (then + absent) / 2) return;
  throw new PinakesError('MIRROR_SHRUNK', { where, detail: `${now} bytes, and ${then + absent} in the mirror` });
}

function sourceOf(bytes: Uint8Array): [number, AsyncIterable<Uint8Array>] {
  async function* once(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  return [bytes.length, once()];
}

async function removeCopies(files: readonly FileCopy[]): Promise<void> {
  for (const { path } of files) await rm(dirname(path), { recursive: true, force: true });
}

class Sync {
  readonly #archive: OpenedArchive;
  readonly #copy: MirrorCopy;
  readonly #setting: MirrorSetting;
  readonly #state: MirrorState;
  readonly #before: ReadonlyMap<string, MirroredObject>;
  readonly #options: SyncOptions;
  readonly #totalBytes: number;
  #bytes = 0;

  constructor(
    archive: OpenedArchive,
    copy: MirrorCopy,
    setting: MirrorSetting,
    state: MirrorState,
    before: MirrorManifest | undefined,
    options: SyncOptions,
  ) {
    this.#archive = archive;
    this.#copy = copy;
    this.#setting = setting;
    this.#state = state;
    this.#before = new Map(before?.objects.map((object) => [`${object.volume}/${object.name}`, object]));
    this.#options = options;
    this.#totalBytes = [...state.segments, ...state.objects, ...state.files].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Undefined: something was removed from the archive meanwhile, and its state has to be read again. */
  async run(): Promise<Pick<MirrorManifest, 'objects' | 'files' | 'absent'> | undefined> {
    const objects: MirroredObject[] = [];
    const absent: AbsentObject[] = [];
    for (const segment of this.#state.segments) {
      const found = await this.#segment(segment);
      if (!found) return undefined;
      if ('absent' in found) absent.push(found);
      else objects.push(found);
    }
    for (const object of this.#state.objects) {
      const found = await this.#ownObject(object);
      if (!found) return undefined;
      objects.push(found);
    }
    const files: MirroredFile[] = [];
    for (const file of this.#state.files) files.push(await this.#file(file));
    return { objects, files, absent };
  }

  async #segment(row: Segment): Promise<MirroredObject | AbsentObject | undefined> {
    const { volume, name, bytes, state } = row;
    const why = this.#whyAbsent(row);
    const absent = (reason: string): AbsentObject => ({ absent: name, volume, bytes, why: reason });
    if (why !== undefined) return absent(why);
    try {
      const isSealed = state === 'sealed';
      const pieces = isSealed ? [await this.#whole(row)] : await this.#beginning(row);
      return { volume, name, isSealed, bytes: pieces.reduce((sum, [, length]) => sum + length, 0), pieces };
    } catch (error) {
      if (!(error instanceof SourceGone)) throw error;
      const now = await this.#archive.catalog.segment(row.number);
      const isSame = now?.name === name && now.state === state && now.volume === volume;
      return isSame ? absent(error.message) : undefined;
    }
  }

  #whyAbsent({ volume, name }: Segment): string | undefined {
    if (!this.#archive.volumes.linked(volume)) return undefined;
    if (!this.#setting.withLinked) return 'a file that was added in place; the mirror is without these';
    // Files of others are not compacted, so this is how what is barred stays out of the mirror.
    return this.#state.barred.includes(name) ? 'it has records that were taken down' : undefined;
  }

  /** A sealed segment. A missing volume does not matter if the mirror has it already. */
  async #whole(row: Segment): Promise<Piece> {
    const { volume, name } = row;
    const object = `volumes/${volume}/${name}`;
    const isLinked = this.#archive.volumes.linked(volume) !== undefined;
    const known = this.#copy.find(object, row.bytes) ?? (isLinked ? this.#pieceBefore(volume, name) : undefined);
    if (known) return this.#have(known);
    // Behind the last record of another writer's file there may be more bytes.
    const length = isLinked ? await this.#archive.stores.get(volume).lengthOf(row).catch(asGone) : undefined;
    const bytes = length ?? row.bytes;
    return this.#write(object, bytes, () => this.#archive.stores.get(volume).stream(row, 0, bytes));
  }

  #pieceBefore(volume: string, name: string): Piece | undefined {
    const [piece] = this.#before.get(`${volume}/${name}`)?.pieces ?? [];
    return piece && this.#copy.find(piece[0], piece[1]);
  }

  /** The committed records of a segment that grows: what the mirror has of them, and the rest. */
  async #beginning(row: Segment): Promise<Piece[]> {
    const { volume, name, bytes } = row;
    const folder = `parts/${volume}/${name}`;
    const pieces: Piece[] = [];
    let end = 0;
    for (const [object, length] of this.#before.get(`${volume}/${name}`)?.pieces ?? []) {
      const known = this.#copy.find(object, length);
      if (!known || object !== `${folder}/${end}-${end + length}` || end + length > bytes) break;
      pieces.push(this.#have(known));
      end += length;
    }
    if (end === bytes) return pieces;
    if (pieces.length >= PIECES_MAX) {
      pieces.length = 0;
      end = 0;
    }
    const object = `${folder}/${end}-${bytes}`;
    const known = this.#copy.find(object, bytes - end);
    const read = () => this.#archive.stores.get(volume).stream(row, end, bytes);
    pieces.push(known ? this.#have(known) : await this.#write(object, bytes - end, read));
    return pieces;
  }

  async #ownObject({ store, name, bytes, isSealed }: OwnObject): Promise<MirroredObject | undefined> {
    const { volume } = store;
    const read = () => store.stream(wholeObject(name), 0, bytes);
    try {
      const object = isSealed
        ? `volumes/${volume}/${name}`
        : `parts/${volume}/${name}/${await beginningOfDigest(read()).catch(asGone)}`;
      const piece = this.#copy.find(object, bytes);
      const pieces = [piece ? this.#have(piece) : await this.#write(object, bytes, read)];
      return { volume, name, isSealed, bytes, pieces };
    } catch (error) {
      if (error instanceof SourceGone) return undefined;
      throw error;
    }
  }

  async #file({ file, path, bytes }: FileCopy): Promise<MirroredFile> {
    const read = () => createReadStream(path) as AsyncIterable<Uint8Array>;
    const object = `files/${basename(file)}-${await beginningOfDigest(read())}`;
    const known = this.#copy.find(object, bytes);
    return { file, bytes, pieces: [known ? this.#have(known) : await this.#write(object, bytes, read)] };
  }

  #have(piece: Piece): Piece {
    this.#bytes += piece[1];
    return piece;
  }

  async #write(object: string, bytes: number, read: () => AsyncIterable<Uint8Array>): Promise<Piece> {
    this.#tell(object);
    return this.#have(await this.#copy.write(object, bytes, this.#source(object, bytes, read)));
  }

  /** The bytes of the archive. A failure to read them is kept apart from a failure of the mirror. */
  async *#source(object: string, bytes: number, read: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let done = 0;
    const pieces = openSource(read);
    for (;;) {
      const next = await pieces.next().catch(asGone);
      if (next.done) break;
      this.#options.signal?.throwIfAborted();
      done += next.value.length;
      this.#tell(object, done);
      yield next.value;
    }
    if (done !== bytes) throw new SourceGone(`it has ${done} bytes instead of ${bytes}`);
  }

  #tell(object: string, bytes = 0): void {
    this.#options.onProgress?.({ object, bytes: this.#bytes + bytes, totalBytes: this.#totalBytes });
  }
}

/** Errors of bytes that are not where the row says. */
const GONE: ReadonlySet<string> = new Set([
  'FILE_MISSING',
  'FILE_UNREACHABLE',
  'FILE_UNREADABLE',
  'NOT_LINKABLE',
  'OBJECT_CHANGED',
  'OBJECT_MISSING',
  'OBJECT_MOVED',
  'VOLUME_MISSING',
]);

/** The bytes are not where the archive has them. */
class SourceGone extends Error {}

function asGone(error: unknown): never {
  if (error instanceof PinakesError && GONE.has(error.code)) throw new SourceGone(error.message, { cause: error });
  throw error;
}

async function* openSource(read: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* read();
}

async function beginningOfDigest(source: AsyncIterable<Uint8Array>): Promise<string> {
  const digest = new RunningDigest('sha256');
  for await (const piece of source) digest.update(piece);
  return toHex(digest.finish().bytes).slice(0, 32);
}

/**
 * Removes manifests whose time is over, and then every object that no manifest names. A manifest is removed before its
 * objects, so that none is ever read whose objects are gone.
 */
async function retire(
  { store }: MirrorTarget,
  newest: MirrorManifest,
  older: readonly MirrorManifest[],
  delayMs: number,
  now: number,
): Promise<{ removed: number; earlier: number }> {
  const kept: MirrorManifest[] = [newest];
  let followed = newest;
  for (const manifest of older) {
    const isDue = (parseW3cDate(followed.time) ?? 0) + delayMs <= now;
    followed = manifest;
    if (!isDue && manifest.isClean && manifest.takedowns === newest.takedowns) kept.push(manifest);
  }
  const named = new Set(['mirror', ...kept.map(({ number }) => manifestName(number))]);
  for (const manifest of kept) for (const [object] of piecesOf(manifest)) named.add(object);
  const surplus = (await listedObjects(store)).flatMap(({ name }) => (named.has(name) ? [] : [name]));
  const isManifest = (name: string) => name.startsWith('manifests/');
  await store.remove(surplus.filter(isManifest));
  await store.remove(surplus.filter((name) => !isManifest(name)));
  return { removed: surplus.filter((name) => !isManifest(name)).length, earlier: kept.length - 1 };
}
