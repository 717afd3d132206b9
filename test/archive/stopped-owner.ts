/**
 * An archive on a bucket whose process is stopped before one of its requests, as by SIGSTOP. An archive elsewhere takes
 * the bucket over and writes to it. Then the stopped process goes on, and its successor too.
 *
 * What either of them acknowledged is there afterwards, once, and what was deleted is gone: in the archive of the
 * successor, when that is opened again, and in one that takes the bucket over from it. What the former owner was doing
 * when it was stopped may be done or not, unless it was acknowledged.
 */
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type Archive, createArchive, dropCatalog } from '../../src/archive/index.ts';
import { PinakesError } from '../../src/base/index.ts';
import type { MemoryBucket, ObjectInfo, ReadRange, TaggedObject } from '../../src/volume/index.ts';
import { openOnVolume, urlOf } from './bucket-trial.ts';
import { BucketVolume } from './memory-bucket.ts';
import { allCaptures, audit, contentOf, NOON, page, payloadAt } from './trial-archive.ts';

const DAY_MS = 25 * 3600 * 1000;

/** When a process is stopped. */
class Stop {
  /** Requests that were made, and how many are made before the stop. */
  made = 0;
  stopAt = Number.POSITIVE_INFINITY;
  readonly stopped = Promise.withResolvers<void>();
  readonly goOn = Promise.withResolvers<void>();

  async request(): Promise<void> {
    if (this.made++ < this.stopAt) return;
    this.stopped.resolve();
    await this.goOn.promise;
  }
}

/** A bucket whose client is stopped before one of its requests, and with it all later ones. */
class StoppingVolume extends BucketVolume {
  readonly #stop: Stop;

  constructor(bucket: MemoryBucket, stop: Stop) {
    super('main', bucket);
    this.#stop = stop;
  }

  override async *list(prefix?: string): AsyncGenerator<ObjectInfo[]> {
    await this.#stop.request();
    yield* super.list(prefix);
  }

  override async stat(names: readonly string[]): Promise<(ObjectInfo | undefined)[]> {
    await this.#stop.request();
    return super.stat(names);
  }

  override async put(name: string, bytes: readonly Uint8Array[]): Promise<void> {
    await this.#stop.request();
    await super.put(name, bytes);
  }

  override async remove(names: readonly string[]): Promise<void> {
    await this.#stop.request();
    await super.remove(names);
  }

  override async read(ranges: readonly ReadRange[]): Promise<Uint8Array[]> {
    await this.#stop.request();
    return super.read(ranges);
  }

  override async *stream(name: string, from?: number, to?: number): AsyncGenerator<Uint8Array> {
    await this.#stop.request();
    yield* super.stream(name, from, to);
  }

  override async readTagged(name: string): Promise<TaggedObject | undefined> {
    await this.#stop.request();
    return super.readTagged(name);
  }
}

/** What was promised of each capture, by its name. `open`: a call about it failed. */
type States = Map<string, 'there' | 'gone' | 'open'>;

type Former = {
  archive: Archive;
  readonly states: States;
  readonly open: () => Promise<Archive>;
};

async function store({ archive, states }: Pick<Former, 'archive' | 'states'>, names: readonly string[]): Promise<void> {
  for (const name of names) {
    states.set(name, 'open');
    const input = page(urlOf(name), NOON + name.length * 1000, contentOf(contentName(name)));
    await archive.store(input, { collection: `c${name.length % 2}` });
    states.set(name, 'there');
  }
}

/** Some captures have the content of another one. */
function contentName(name: string): string {
  return name.replace(/-again$/, '');
}

async function remove({ archive, states }: Pick<Former, 'archive' | 'states'>, names: readonly string[]) {
  for (const name of names) {
    states.set(name, 'open');
    await archive.delete({ url: urlOf(name) });
    states.set(name, 'gone');
  }
}

/** What the former owner is doing when it is stopped. */
export const STOPPED_IN: Readonly<Record<string, (former: Former) => Promise<unknown>>> = {
  store: (former) => store(former, ['late', 'late-again', 'later']),
  delete: (former) => remove(former, ['bb', 'ccc']),
  compact: ({ archive }) => archive.compact(),
  recompress: ({ archive }) => archive.recompress({ worthwhileShare: 2 }),
  rebuild: ({ archive }) => archive.rebuild(),
  takedown: async ({ archive, states }) => {
    states.set('bb', 'open');
    await archive.takeDown({ urls: [urlOf('bb')] }, { reason: 'asked for', by: 'Ana' });
    states.set('bb', 'gone');
  },
  opening: async (former) => {
    await former.archive.close();
    former.archive = await former.open();
  },
  'opening without a catalog': async (former) => {
    await former.archive.close();
    await dropCatalog(former.archive.directory);
    former.archive = await former.open();
  },
};

export type StoppedOptions = {
  /** Makes a directory that goes when the round is over. */
  readonly newDirectory: () => Promise<string>;
  /** What the former owner is doing: a key of STOPPED_IN. */
  readonly kind: string;
  /** How many requests it makes before it is stopped. */
  readonly requests: number;
};

/** Stops the former owner. Returns how many requests it made in all. */
export async function stopAfter({ newDirectory, kind, requests }: StoppedOptions): Promise<number> {
  const bucket: MemoryBucket = new Map();
  let now = NOON;
  const clock = () => (now += 1000);
  const states: States = new Map();
  const directory = await newDirectory();
  await createArchive(directory, { policies: { segmentBytesMax: 9000 } });
  const stop = new Stop();
  const open = () => openOnVolume(directory, new StoppingVolume(bucket, stop), { clock });
  const former: Former = { archive: await open(), states, open };
  await store(former, ['a', 'bb', 'ccc', 'dddd', 'eeeee', 'ccc-again', 'dddd-again', 'ffffff', 'ggggggg']);
  await remove(former, ['dddd']);
  await store(former, ['hhhhhhhh', 'iiiiiiiii']);
  stop.made = 0;
  stop.stopAt = requests;
  const over = STOPPED_IN[kind]!(former).then(
    () => undefined,
    (error: unknown) => error,
  );
  const isStopped = await Promise.race([stop.stopped.promise.then(() => true), over.then(() => false)]);
  if (!isStopped) {
    assert.equal(await over, undefined);
    await former.archive.close();
    return stop.made;
  }
  const elsewhere = await machineOf(directory, await newDirectory());
  const openHere = (seed: number) =>
    openOnVolume(elsewhere, new BucketVolume('main', bucket), { seed, clock, takesOver: true });
  let successor = await openHere(2);
  await store({ archive: successor, states }, ['kk', 'lll', 'a-again']);
  await remove({ archive: successor, states }, ['eeeee', 'ffffff']);
  stop.goOn.resolve();
  const error = await over;
  if (error !== undefined && !(error instanceof PinakesError)) throw error;
  await former.archive.close().catch(() => {});
  await store({ archive: successor, states }, ['mmmm', 'nnnnn']);
  await remove({ archive: successor, states }, ['ggggggg', 'kk']);
  await successor.close();
  // What the former owner put late, and was not acknowledged, may come in with this opening, and not later.
  successor = await openHere(3);
  await assertAs(states, successor);
  await remove({ archive: successor, states }, ['hhhhhhhh']);
  const next = await openOnVolume(await machineOf(directory, await newDirectory()), new BucketVolume('main', bucket), {
    seed: 4,
    clock,
    takesOver: true,
  });
  await successor.close().catch(() => {});
  await assertAs(states, next);
  await next.compact();
  now += DAY_MS;
  await next.compact();
  await assertAs(states, next);
  assert.deepEqual(await audit(next), []);
  await assertClean(next, bucket);
  await next.close();
  return stop.made;
}

/** Makes the directory that of another machine, which has nothing but the connector. */
async function machineOf(directory: string, elsewhere: string): Promise<string> {
  await cp(join(directory, 'archive.yaml'), join(elsewhere, 'archive.yaml'));
  return elsewhere;
}

/** Also notes the outcome of the calls that failed. */
async function assertAs(states: States, archive: Archive): Promise<void> {
  const found = (await allCaptures(archive)).map(({ url }) => url).sort();
  assert.deepEqual(found, [...new Set(found)], 'a capture is there twice');
  for (const [name, state] of states)
    if (state === 'open') states.set(name, found.includes(urlOf(name)) ? 'there' : 'gone');
  const there = [...states].flatMap(([name, state]) => (state === 'there' ? [name] : []));
  assert.deepEqual(found, there.map(urlOf).sort());
  for (const name of there)
    assert.deepEqual(await payloadAt(archive, urlOf(name)), Buffer.from(contentOf(contentName(name))), name);
}

/** Every part is one of an open segment, and every segment has a row. */
async function assertClean(archive: Archive, bucket: MemoryBucket): Promise<void> {
  const segments = await archive.segments();
  const open = segments.flatMap(({ name, state }) => (state === 'sealed' ? [] : [name]));
  for (const name of bucket.keys())
    if (name.endsWith('.part'))
      assert.ok(
        open.some((one) => name.includes(`/${one}/`)),
        `${name} is left over`,
      );
    else if (/\.warc\.(gz|zst)$/.test(name))
      assert.ok(
        segments.some((one) => one.name === name),
        `${name} is left over`,
      );
}
