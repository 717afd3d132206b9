/**
 * Keeps as many copies of contents as the policy `copies` says, by how many captures refer to a content (N9). The
 * record that holds the content counts as one of them, and so does a content with the same bytes that `force-new`
 * stored on another volume.
 *
 * A pack is written durably first, and then entered in one commit that checks that every content is still held by the
 * record that was copied (C3); the others are left out. What a crash leaves is a pack without a note. `sweepCopies`,
 * which compaction calls, enters or removes it: a pack with a member of which nothing needs to stay is written anew
 * without it, so that no bytes of deleted or barred contents are left (I6). After a rebuild it enters all copies again.
 * A run begins anew where the contents are, and finds only what is missing, so it can end at any moment.
 */
import { PinakesError, toHex } from '../../base/index.ts';
import type { Block, BlockKey } from '../../catalog/index.ts';
import { listedObjects, namedContent, type SegmentStore, sealedBytes, segmentRecords } from '../../ledger/index.ts';
import { MemberEncoder } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import {
  COPIES_FOLDER,
  type CopyPlace,
  copyNote,
  copyNotesOf,
  PACK_SUFFIX,
  parseCopyNote,
  payloadBytes,
} from '../read/content-copies.ts';
import { blockId, parseBlockId } from '../revisit/catalog-draft.ts';
import { sharingVolumes, VolumeHash } from '../segment/distribution.ts';

/** A pack is written at once, so it stays small. Larger records have no copies. */
const PACK_BYTES_MAX = 8 * 1024 * 1024;
export const COPIED_BYTES_MAX = 64 * 1024 * 1024;
const PACK_MEMBERS_MAX = 1000;
const HELD_BYTES_MAX = 64 * 1024 * 1024;
const ROOM_BYTES_MIN = 64 * 1024 * 1024;

export type CopiesOptions = {
  readonly dryRun?: boolean | undefined;
  readonly onProgress?: ((progress: { contents: number; bytes: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type CopiesReport = {
  /** Copies that were made, and their bytes. */
  copies: number;
  bytes: number;
  /** Contents that have fewer copies than they should, since there is no other volume with room, or cannot be read. */
  lacking: number;
};

type Member = { readonly key: BlockKey; readonly holder: Block['holder']; readonly member: Uint8Array };
type Pack = {
  readonly target: string;
  readonly start: Uint8Array;
  readonly suffix: string;
  members: Member[];
  bytes: number;
};

export async function makeCopies(archive: OpenedArchive, options: CopiesOptions = {}): Promise<CopiesReport> {
  const copier = new Copier(archive, options);
  await copier.run();
  return copier.report;
}

/** How many records a content with this many references should be in. */
export function copiesWanted(copies: Readonly<Record<string, number>>, references: number): number {
  let wanted = 1;
  for (const [count, from] of Object.entries(copies)) if (references >= from) wanted = Math.max(wanted, Number(count));
  return wanted;
}

class Copier {
  readonly report: CopiesReport = { copies: 0, bytes: 0, lacking: 0 };
  readonly #archive: OpenedArchive;
  readonly #options: CopiesOptions;
  readonly #packs = new Map<string, Pack>();

  constructor(archive: OpenedArchive, options: CopiesOptions) {
    this.#archive = archive;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { catalog, connector, volumes } = this.#archive;
    const { copies } = connector.policies;
    if (!copies) return;
    const hash = new VolumeHash(sharingVolumes(volumes.settings()));
    const taking = new Set<string>();
    for (const store of this.#archive.stores.writable())
      if (((await store.space().catch(() => undefined))?.freeBytes ?? ROOM_BYTES_MIN) >= ROOM_BYTES_MIN)
        taking.add(store.volume);
    for await (const page of catalog.blocks()) {
      this.#options.signal?.throwIfAborted();
      for (const block of page) {
        const wanted = copiesWanted(copies, block.references);
        if (wanted > 1)
          await this.#protect(block, wanted, (used) =>
            hash.homeOf(block.key.digest, (name) => taking.has(name) && !used.has(name)),
          );
      }
    }
    for (const pack of this.#packs.values()) await this.#write(pack);
  }

  async #protect(
    block: Block,
    wanted: number,
    choose: (used: ReadonlySet<string>) => string | undefined,
  ): Promise<void> {
    const { access, catalog, segmentRegistry } = this.#archive;
    const used = new Set((await access.copies.placesOf(block.key)).map(({ volume }) => volume));
    const [same = []] = await catalog.findBlocks([block.key.digest]);
    for (const { holder, size } of same) {
      const volume = (await segmentRegistry.find(holder.segment))?.volume;
      if (volume !== undefined && size === block.size) used.add(volume);
    }
    while (used.size < wanted) {
      const target = choose(used);
      if (target === undefined || !(await this.#copy(block, target))) {
        this.report.lacking++;
        return;
      }
      used.add(target);
    }
  }

  async #copy({ key, holder, size }: Block, target: string): Promise<boolean> {
    if (holder.length > COPIED_BYTES_MAX) return false;
    if (!this.#options.dryRun) {
      const read = await this.#read(holder, size);
      if (!read) return false;
      const { member, dictionary, segment } = read;
      const pack = this.#packFor(target, segment, dictionary);
      if (pack.bytes > 0 && pack.bytes + member.length > PACK_BYTES_MAX) await this.#write(pack);
      pack.members.push({ key, holder, member });
      pack.bytes += member.length;
      if (pack.members.length >= PACK_MEMBERS_MAX) await this.#write(pack);
      await this.#writeLargest();
    }
    this.report.copies++;
    this.report.bytes += holder.length;
    return true;
  }

  /** The record that holds a content. Undefined: it is damaged or cannot be read. */
  async #read(
    holder: Block['holder'],
    size: number,
  ): Promise<{ member: Uint8Array; dictionary: Uint8Array | undefined; segment: string } | undefined> {
    const { access, segmentRegistry } = this.#archive;
    try {
      const segment = await segmentRegistry.get(holder.segment);
      const dictionary = await access.dictionaryOf(holder.segment);
      const member = await access.member(holder);
      const record = access.copies.decode(member, dictionary);
      if (!record || payloadBytes(record) !== size) return undefined;
      return { member, dictionary, segment: segment.name };
    } catch (error) {
      if (!(error instanceof PinakesError) || error.retryable) throw error;
      return undefined;
    }
  }

  /** Each dictionary has packs of its own, so many may be begun. What they hold in memory is bounded (I9). */
  async #writeLargest(): Promise<void> {
    const heldIn = ({ start, bytes }: Pack) => start.length + bytes;
    let held = 0;
    for (const pack of this.#packs.values()) held += heldIn(pack);
    if (held <= HELD_BYTES_MAX) return;
    for (const [id, pack] of [...this.#packs].sort(([, one], [, other]) => heldIn(other) - heldIn(one))) {
      if (held <= HELD_BYTES_MAX) return;
      held -= heldIn(pack);
      await this.#write(pack);
      this.#packs.delete(id);
    }
  }

  #packFor(target: string, segment: string, dictionary: Uint8Array | undefined): Pack {
    const coding = segment.endsWith('.zst') ? 'zstd' : segment.endsWith('.gz') ? 'gzip' : 'none';
    const suffix = { zstd: '.warc.zst', gzip: '.warc.gz', none: '.warc' }[coding] + PACK_SUFFIX;
    const id = dictionary ? `${target} ${segment}` : `${target} ${suffix}`;
    const known = this.#packs.get(id);
    if (known) return known;
    const encoder = new MemberEncoder({ coding, dictionary });
    const pack = { target, start: encoder.fileStart(), suffix, members: [], bytes: 0 };
    encoder.close();
    this.#packs.set(id, pack);
    return pack;
  }

  /** Writes a pack and enters its copies. A content that changed meanwhile is left to the next run. */
  async #write(pack: Pack): Promise<void> {
    const members = pack.members;
    if (members.length === 0) return;
    pack.members = [];
    pack.bytes = 0;
    await this.#archive.growing(() => enterPack(this.#archive, pack, members));
    this.#options.onProgress?.({ contents: this.report.copies, bytes: this.report.bytes });
  }
}

async function enterPack(
  archive: OpenedArchive,
  { target, start, suffix }: Pick<Pack, 'target' | 'start' | 'suffix'>,
  given: readonly Member[],
  removeNotes: readonly string[] = [],
): Promise<void> {
  let members = given;
  const store = archive.stores.get(target);
  while (members.length > 0) {
    const name = `${COPIES_FOLDER}${archive.clock()}-${archive.newId().replace(/[^0-9a-f]/g, '')}${suffix}`;
    const packBytes = members.reduce((sum, { member }) => sum + member.length, start.length);
    await store.writeObject(name, Buffer.concat([start, ...members.map(({ member }) => member)]));
    let offset = start.length;
    const notes = members.map(({ key, member }) => {
      const place: CopyPlace = { volume: target, pack: name, packBytes, offset, length: member.length };
      offset += member.length;
      return copyNote(key, place);
    });
    const referents = members.map(({ key, holder }) => ({ key, holder }));
    const outcome = await archive.commitGroup({ referents, putNotes: Object.fromEntries(notes), removeNotes });
    if (outcome.kind === 'committed') return;
    await store.remove([name]);
    if (outcome.kind !== 'stale') throw new PinakesError('LEASE_LOST', { where: name });
    const stale = new Set(outcome.blocks.map(blockId));
    members = members.filter(({ key }) => !stale.has(blockId(key)));
  }
  if (removeNotes.length > 0) await archive.commitGroup({ removeNotes });
}

/**
 * Enters packs without notes, and removes members of contents that are not held any more. Only packs that need it are
 * read.
 */
export async function sweepCopies(archive: OpenedArchive): Promise<void> {
  if (archive.isOld || archive.volumes.failures().length > 0 || archive.segmentRegistry.unread.size > 0) return;
  const packs: { readonly store: SegmentStore; readonly name: string; readonly bytes: number }[] = [];
  for (const store of archive.stores.available())
    for (const { name, bytes } of await listedObjects(store, COPIES_FOLDER))
      if (name.endsWith(PACK_SUFFIX)) packs.push({ store, name, bytes });
  const idOf = ({ store, name }: (typeof packs)[number]) => `${store.volume}/${name}`;
  const { noted, outdated } = await notedPacks(archive, new Set(packs.map(idOf)));
  for (const pack of packs) {
    const isSound = noted.has(idOf(pack)) && !outdated.has(idOf(pack));
    if (!isSound && pack.store.isWritable)
      await archive.exclusive(() => sweepPack(archive, pack.store, pack.name, pack.bytes));
  }
}

/** The packs with notes, and those of which a member need not stay. Removes notes about packs that are gone. */
async function notedPacks(
  archive: OpenedArchive,
  there: ReadonlySet<string>,
): Promise<{ readonly noted: ReadonlySet<string>; readonly outdated: ReadonlySet<string> }> {
  const noted = new Set<string>();
  const outdated = new Set<string>();
  for await (const page of archive.catalog.notePages(copyNotesOf())) {
    const group = page.map(([note, text]) => {
      const { id, place } = parseCopyNote(note, text);
      return { note, key: parseBlockId(id)!, pack: `${place.volume}/${place.pack}` };
    });
    const blocks = await archive.catalog.getBlocks(group.map(({ key }) => key));
    for (const [index, { pack }] of group.entries()) {
      noted.add(pack);
      if (!blocks[index]?.references) outdated.add(pack);
    }
    const removeNotes = group.flatMap(({ note, pack }) => (there.has(pack) ? [] : [note]));
    if (removeNotes.length > 0) await archive.commitGroup({ removeNotes });
  }
  return { noted, outdated };
}

async function sweepPack(archive: OpenedArchive, store: SegmentStore, pack: string, packBytes: number): Promise<void> {
  const { catalog, fingerprint } = archive;
  const content = sealedBytes(pack, packBytes);
  const known = new Map<string, BlockKey>();
  const own: { key: BlockKey; offset: number; length: number }[] = [];
  for await (const { facts } of segmentRecords(store, content, 0, packBytes)) {
    const key = facts.kind === undefined ? undefined : namedContent(facts, fingerprint);
    if (!key) continue;
    own.push({ key, offset: facts.offset, length: facts.length });
    known.set(blockId(key), key);
  }
  const blocks = await catalog.getBlocks([...known.values()]);
  const held = new Map([...known.keys()].map((id, index) => [id, blocks[index]]));
  const isNeeded = ({ key }: { key: BlockKey }) => (held.get(blockId(key))?.references ?? 0) > 0;
  const noteOf = ({ key, offset, length }: (typeof own)[number]) =>
    copyNote(key, { volume: store.volume, pack, packBytes, offset, length });
  if (own.length > 0 && own.every(isNeeded)) {
    const notes = Object.fromEntries(own.map(noteOf));
    const there: Record<string, string> = {};
    for (const key of known.values()) Object.assign(there, await catalog.notes(copyNotesOf(key)));
    if (Object.keys(notes).every((name) => there[name] !== undefined)) return;
    await archive.commitGroup({ putNotes: notes });
    return;
  }
  const needed = own.filter(isNeeded);
  const removeNotes = own.map((one) => noteOf(one)[0]);
  const ranges = needed.map(({ offset, length }) => ({ offset, length }));
  const first = Math.min(packBytes, ...own.map(({ offset }) => offset));
  const [start, ...members] = await store.read(content, [{ offset: 0, length: first }, ...ranges]);
  const kept = needed.map(({ key }, index) => ({
    key,
    holder: held.get(blockId(key))!.holder,
    member: members[index]!,
  }));
  const suffix = pack.slice(pack.indexOf('.warc'));
  await enterPack(archive, { target: store.volume, start: start!, suffix }, kept, removeNotes);
  await store.remove([pack]);
}

/** The packs with bytes of contents, for the proof of a takedown. */
export async function packsOf(
  archive: Pick<OpenedArchive, 'catalog'>,
  digests: readonly Uint8Array[],
): Promise<string[]> {
  const packs = new Set<string>();
  for (const digest of digests)
    for (const [name, text] of Object.entries(await archive.catalog.notes(`${copyNotesOf()}${toHex(digest)}~`))) {
      const { volume, pack } = parseCopyNote(name, text).place;
      packs.add(`${volume}/${pack}`);
    }
  return [...packs].sort();
}
