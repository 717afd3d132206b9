/**
 * Shared streams that pause and continue at random, while records are stored, deleted and compacted. A client gets
 * every record of the snapshot exactly once, in order from the place where it joined. Only deleted records may be
 * missing.
 *
 * With even seeds all clients read whole segments, and with odd seeds some of them do. `PINAKES_SEED=n` runs another
 * seed.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type Archive, ScanHub, type StreamQuery, type Subscriber } from '../../src/archive/index.ts';
import { type Random, seededRandom } from '../../src/base/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { sampleArchive, storePages } from './stream-sample.ts';

const SEEDS = process.env.PINAKES_SEED ? [Number(process.env.PINAKES_SEED)] : [12, 15];
const CLIENTS = 5;

/**
 * The identity of a record, unchanged by compaction. Warcinfo records do not count: rewritten segments have new ones.
 */
function nameOf(head: { readonly type: string; readonly targetUri: string | undefined }): string | undefined {
  if (head.type === 'warcinfo') return undefined;
  return `${head.type === 'request' ? 'request' : 'capture'} ${head.targetUri}`;
}

async function namesIn(pieces: readonly Uint8Array[]): Promise<string[]> {
  const names: string[] = [];
  async function* all() {
    yield* pieces;
  }
  for await (const record of readRecords(all(), { name: 'stream' })) {
    for await (const _ of record.body());
    assert.equal(record.tail?.isComplete, true, 'records come whole');
    const name = nameOf(record.head);
    if (name !== undefined) names.push(name);
  }
  return names;
}

class Client {
  readonly #archive: Archive;
  readonly #sharing: ScanHub;
  readonly #wholeSegments: boolean;
  readonly #joins: boolean;
  readonly #pieces: Uint8Array[] = [];
  #stream: Subscriber | undefined;
  #cursor: string | undefined;
  /** The number of pieces up to the cursor. */
  #whole = 0;
  snapshot = '';
  hasJoined = false;
  isOver = false;

  constructor(archive: Archive, sharing: ScanHub, wholeSegments: boolean, joins: boolean) {
    this.#archive = archive;
    this.#sharing = sharing;
    this.#wholeSegments = wholeSegments;
    this.#joins = joins;
  }

  async open(): Promise<void> {
    const query = { wholeSegments: this.#wholeSegments, cursor: this.#cursor };
    const format = { name: 'warc', open: (wanted: StreamQuery) => this.#archive.streamWarc(wanted) };
    this.#stream = await this.#archive.subscribe(this.#sharing, { format, query }, { joins: this.#joins });
    this.hasJoined ||= this.#stream.join !== undefined;
    this.#cursor = this.#stream.cursor();
    this.snapshot = JSON.stringify(
      JSON.parse(String(Buffer.from(this.#cursor.split('~')[0]!, 'base64url'))).slice(2, 4),
    );
  }

  async step(): Promise<void> {
    if (!this.#stream) await this.open();
    const chunk = await this.#stream!.next();
    if (!chunk) {
      this.isOver = true;
      await this.pause();
      return;
    }
    this.#pieces.push(...chunk.pieces);
    if (chunk.cursor === undefined) return;
    this.#cursor = this.#stream!.cursor();
    this.#whole = this.#pieces.length;
  }

  /** Disconnects, and discards the bytes after the cursor. */
  async pause(): Promise<void> {
    await this.#stream?.[Symbol.asyncDispose]();
    this.#stream = undefined;
    this.#pieces.length = this.#whole;
  }

  names(): Promise<string[]> {
    return namesIn(this.#pieces);
  }
}

async function storedNames(archive: Archive): Promise<string[]> {
  const names: string[] = [];
  for await (const { head } of await archive.stream()) {
    const name = nameOf(head);
    if (name !== undefined) names.push(name);
  }
  return names;
}

async function run(t: TestContext, seed: number): Promise<void> {
  t.diagnostic(`seed ${seed}`);
  const random: Random = seededRandom(seed);
  const pick = (below: number) => Math.floor(random() * below);
  const archive = await sampleArchive(t, 160, 1_500_000);
  const sharing = new ScanHub({ bytesMax: 1_500_000 });
  const snapshots = new Map<string, string[]>();
  const clients: Client[] = [];
  let stored = 160;
  let compactions = 0;
  const change = async () => {
    const kind = pick(5);
    if (kind === 0) await storePages(archive, stored, (stored += 1 + pick(10)));
    else if (kind < 3) await archive.delete({ url: `http://host${pick(7)}.test/page/${pick(stored)}` });
    else if (kind === 3)
      for (let n = pick(7); n < stored; n += 29) await archive.delete({ url: `http://host${n % 7}.test/page/${n}` });
    else {
      compactions++;
      await archive.compact();
    }
  };
  while (clients.length < CLIENTS || clients.some(({ isOver }) => !isOver)) {
    const waiting = clients.filter(({ isOver }) => !isOver);
    if (clients.length < CLIENTS && (waiting.length === 0 || pick(4) === 0)) {
      const client = new Client(archive, sharing, seed % 2 === 0 || pick(2) === 0, pick(2) === 0);
      const names = await storedNames(archive);
      await client.open();
      if (!client.hasJoined && !snapshots.has(client.snapshot)) snapshots.set(client.snapshot, names);
      clients.push(client);
      continue;
    }
    const client = waiting[pick(waiting.length)]!;
    const deed = pick(6);
    if (deed === 0) await client.pause();
    else if (deed === 1) await Promise.all([client.step(), change()]);
    else if (deed === 2) await change();
    else await client.step();
  }
  const left = new Set(await storedNames(archive));
  for (const client of clients) {
    const wanted = snapshots.get(client.snapshot);
    assert.ok(wanted, 'a client that joins reads the snapshot of the first client');
    const order = new Map(wanted.map((name, at) => [name, at]));
    const got = await client.names();
    assert.equal(new Set(got).size, got.length, 'nothing comes twice');
    const places = got.map((name) => order.get(name) ?? assert.fail(`${name} is not in the snapshot`));
    const falls = places.filter((place, at) => at > 0 && place < places[at - 1]!).length;
    assert.ok(falls <= (client.hasJoined ? 1 : 0), `order breaks ${falls} times`);
    if (falls === 1) assert.ok(places.at(-1)! < places[0]!, 'ends where it joined');
    const gotten = new Set(got);
    for (const name of wanted) assert.ok(gotten.has(name) || !left.has(name), `${name} is missing`);
  }
  t.diagnostic(
    `${clients.filter(({ hasJoined }) => hasJoined).length} of ${CLIENTS} joined, ${compactions} compactions`,
  );
}

describe('I8: shared streams deliver each record of the snapshot exactly once, across pauses, stores, deletions and compactions', () => {
  for (const seed of SEEDS) test(`seed ${seed}`, (t) => run(t, seed));
});
