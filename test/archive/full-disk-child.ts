/**
 * Fills a small disk with an archive, and prints the outcome as JSON.
 *
 * Arguments: a directory on the small disk, and the name of a scene. A later scene continues with the archive of the
 * earlier one.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import type { PinakesError } from '../../src/base/index.ts';
import { crawl } from '../../src/crawl/index.ts';
import { Indexer } from '../../src/search/index.ts';
import { contentOf, NOON, page, payloadAt, trialOptions } from './trial-archive.ts';

export type Scene = keyof typeof SCENES;

export type Seen = Readonly<Record<string, unknown>>;

const MIB = 1024 * 1024;

/** Takes all free room except a number of bytes. */
function fill(disk: string, freeBytes = 0): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - freeBytes), 1));
}

function makeRoom(disk: string): void {
  rmSync(join(disk, 'ballast'));
}

function open(disk: string, seed = 1): Promise<Archive> {
  return openArchive(join(disk, 'archive'), trialOptions({ seed }));
}

/** Without the segments that have records of deletions. */
async function segmentsWithCaptures(archive: Archive) {
  return (await archive.segments()).filter(({ name }) => !name.startsWith('_deletions/'));
}

async function make(disk: string): Promise<Archive> {
  await createArchive(join(disk, 'archive'));
  return open(disk);
}

function freeBytes(disk: string): number {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

/** A page of words that no other page has. These words need much room in the index. */
function pageOfWords(number: number): Buffer {
  const words = randomBytes(12_000).toString('hex').match(/.{8}/g)!;
  return Buffer.from(`<title>Page ${number}</title><p>${words.join(' ')}`);
}

function urlOf(name: string): string {
  const [host, path] = name.split(' ');
  return `http://${host}.example/${path}`;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Stores pages `<collection> <number>` in a collection. */
async function storeMany(archive: Archive, collection: string, count: number): Promise<void> {
  await Promise.all(range(count).map((index) => store(archive, collection, `${collection} ${index}`)));
}

function store(archive: Archive, collection: string, name: string, body = contentOf(name)) {
  return archive.store(page(urlOf(name), NOON, body), { collection });
}

/** The outcome of some work: `done`, or the code of its failure. */
function outcome(doing: Promise<unknown>): Promise<string> {
  return doing.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error),
  );
}

async function isHeld(archive: Archive, name: string): Promise<boolean> {
  return (await payloadAt(archive, urlOf(name))).equals(contentOf(name));
}

async function errorsIn(archive: Archive): Promise<number> {
  return (await archive.verify()).errors;
}

async function deleteCollection(archive: Archive, name: string) {
  return archive.delete({ collection: (await archive.collections.find(name))! });
}

function reserveBytes(disk: string): number {
  return statSync(join(disk, 'archive/reserve'), { throwIfNoEntry: false })?.size ?? 0;
}

const SCENES = {
  /** Every kind of work on an archive whose disk was filled by other files. */
  async filledByOthers(disk: string): Promise<Seen> {
    const first = await make(disk);
    await storeMany(first, 'one', 500);
    await storeMany(first, 'two', 500);
    await first.close();
    fill(disk);
    const archive = await open(disk);
    const seen = {
      isHeld: await isHeld(archive, 'one 7'),
      errors: await errorsIn(archive),
      store: await outcome(store(archive, 'one', 'one new')),
      add: await outcome(archive.add([join(disk, 'nothing.warc.gz')])),
      rebuild: await outcome(archive.rebuild()),
      index: await outcome(Indexer.open(archive)),
      crawl: await outcome(crawl(archive, ['http://one.example/'], {}, {})),
      files: ['search.sqlite', 'crawl.sqlite'].filter((name) => existsSync(join(disk, 'archive', name))),
      deleted: await deleteCollection(archive, 'one'),
      compact: await outcome(archive.compact()),
    };
    await archive.close();
    const again = await open(disk);
    const after = { captures: (await again.totals()).captures, isHeldAfter: await isHeld(again, 'two 7') };
    await again.close();
    const isReserveBack = reserveBytes(disk) > 7 * MIB;
    makeRoom(disk);
    const roomy = await open(disk);
    const storeWithRoom = await outcome(store(roomy, 'two', 'two new'));
    const errorsWithRoom = await errorsIn(roomy);
    await roomy.close();
    return { ...seen, ...after, isReserveBack, storeWithRoom, errorsWithRoom, reserveBytes: reserveBytes(disk) };
  },

  /** The archive itself fills the disk, and the process ends at that moment. */
  async filledByItself(disk: string): Promise<Seen> {
    const archive = await make(disk);
    let stored = 0;
    let last = '';
    // Smaller pages fill the room that a page was too large for.
    for (const bytes of [3_000_000, 100_000, 3000]) {
      do {
        const large = archive.store(page(`http://large.example/${stored}`, NOON, randomBytes(bytes)));
        const small = range(10).map((index) => store(archive, 'small', `small${stored} ${index}`));
        last = await outcome(Promise.all([large, ...small]));
        if (last === 'done') stored++;
      } while (last === 'done');
    }
    return { last, stored };
  },

  async openedAfterwards(disk: string): Promise<Seen> {
    const archive = await open(disk, 2);
    let held = 0;
    while (await isHeld(archive, `small${held} 9`).catch(() => false)) held++;
    const errors = await errorsIn(archive);
    await archive.close();
    return { held, errors };
  },

  /** The disk becomes full while the archive is open. */
  async filledMeanwhile(disk: string): Promise<Seen> {
    const archive = await make(disk);
    await storeMany(archive, 'one', 100);
    fill(disk);
    const deleted = await deleteCollection(archive, 'one');
    const storeWhileFull = await outcome(store(archive, 'two', 'two 1'));
    makeRoom(disk);
    const storeWithRoom = await outcome(store(archive, 'two', 'two 1'));
    const seen = { deleted, storeWhileFull, storeWithRoom, reserveBytes: reserveBytes(disk) };
    await archive.close();
    return seen;
  },

  /** One segment has only deleted records. There is no room to rewrite the other segment. */
  async compacted(disk: string): Promise<Seen> {
    const first = await make(disk);
    for (const index of range(36)) await store(first, 'large', `large ${index}`, randomBytes(MIB));
    await storeMany(first, 'small', 100);
    await first.delete({ url: urlOf('large 0') });
    await deleteCollection(first, 'small');
    await first.close();
    fill(disk);
    const archive = await open(disk);
    let says = '';
    const compact = await outcome(
      archive.compact().catch((error: PinakesError) => {
        says = error.detail!.replace(/large\S+/, 'large').replace(/\d+ MiB more/, 'more');
        throw error;
      }),
    );
    // The segments that still hold deleted records.
    const names = (await segmentsWithCaptures(archive)).map(
      ({ name, deadBytes }) => `${name.split('/')[0]} ${deadBytes > 0}`,
    );
    const seen = {
      compact,
      says,
      names,
      errors: await errorsIn(archive),
      captures: (await archive.totals()).captures,
    };
    await archive.close();
    makeRoom(disk);
    const roomy = await open(disk);
    const compactWithRoom = await outcome(roomy.compact());
    await roomy.close();
    return { ...seen, compactWithRoom };
  },

  /**
   * Compaction has to promote a content in one segment, for which there is no room, before it rewrites a segment that
   * only loses records.
   */
  async promoted(disk: string): Promise<Seen> {
    const first = await make(disk);
    await store(first, 'gone', 'gone 0', contentOf('shared'));
    for (const index of range(14)) await store(first, 'gone', `gone ${index + 1}`, randomBytes(MIB));
    await store(first, 'kept', 'kept 0', contentOf('shared'));
    for (const index of range(10)) await store(first, 'kept', `kept ${index + 1}`, randomBytes(MIB));
    await deleteCollection(first, 'gone');
    await first.close();
    fill(disk);
    const archive = await open(disk);
    const compact = await outcome(archive.compact());
    const isShared = (await payloadAt(archive, urlOf('kept 0'))).equals(contentOf('shared'));
    const names = (await segmentsWithCaptures(archive)).map(
      ({ name, deadBytes }) => `${name.split('/')[0]} ${deadBytes}`,
    );
    const seen = { compact, isShared, names, errors: await errorsIn(archive) };
    await archive.close();
    return seen;
  },

  /** The index needs more room than the disk has. */
  async indexed(disk: string): Promise<Seen> {
    const archive = await make(disk);
    for (const index of range(80)) await store(archive, 'one', `one ${index}`, pageOfWords(index));
    fill(disk, 3 * MIB);
    const freeBefore = freeBytes(disk);
    const index = async () => {
      const indexer = await Indexer.open(archive);
      await indexer.catchUp({ batchDocuments: 20 }).finally(() => indexer.close());
    };
    const indexWhileFull = await outcome(index());
    const isRoomLeft = freeBytes(disk) > MIB;
    const deleted = await archive.delete({ url: urlOf('one 0') });
    const compact = await outcome(archive.compact());
    makeRoom(disk);
    const indexWithRoom = await outcome(index());
    await archive.close();
    return { isShort: freeBefore < 4 * MIB, indexWhileFull, isRoomLeft, deleted, compact, indexWithRoom };
  },

  /** The catalog has to be made again, and there is only room to open an empty one. */
  async catalogLost(disk: string): Promise<Seen> {
    const first = await make(disk);
    await storeMany(first, 'one', 3000);
    await first.close();
    rmSync(join(disk, 'archive/catalog'), { recursive: true });
    fill(disk, 128 * 1024);
    const archive = await open(disk);
    const { captures } = await archive.totals();
    const seen = { captures, errors: await errorsIn(archive) };
    await archive.close();
    return seen;
  },

  /** The reserve was removed. */
  async withoutReserve(disk: string): Promise<Seen> {
    const first = await make(disk);
    await storeMany(first, 'one', 500);
    await first.close();
    rmSync(join(disk, 'archive/reserve'));
    fill(disk);
    const openWhileFull = await outcome(open(disk));
    makeRoom(disk);
    const archive = await open(disk);
    const seen = { openWhileFull, isHeld: await isHeld(archive, 'one 7'), errors: await errorsIn(archive) };
    await archive.close();
    return seen;
  },
};

if (import.meta.main) {
  const seen = await SCENES[process.argv[3] as Scene](process.argv[2]!);
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit());
}
