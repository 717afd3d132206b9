/**
 * A small writer and deleter straight on the catalog and the volume, to try the simulation itself with. They keep the
 * rules of a commit, and nothing else of the protocol: nothing is healed and nothing compacted.
 */
import { hash } from 'node:crypto';
import { fromHex, PinakesError, utf8 } from '../../src/base/index.ts';
import type { Capture, CommitGroup, CommitOutcome, Lease, NewBlock, Segment } from '../../src/catalog/index.ts';
import { recordHash } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { MemberEncoder, type NewRecord, recordParts } from '../../src/warc/index.ts';
import { CAPTURE_DATE, digestOfContent, keyOf, payloadOf, type TestCapture, urlOf } from './book.ts';
import type { Machine, Work } from './machine.ts';
import { VOLUME } from './world.ts';

export const HTTP_HEAD = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
const LIFE_MS = 60_000;
const encoder = new MemberEncoder({ coding: 'gzip', level: 1 });

export type HarnessWriterOptions = {
  /** Puts a group that is made again under the same name: breaks P2. */
  readonly keepsName?: boolean;
};

/** Stores groups of captures, one commit each, and seals its segment. */
export function harnessWriter(groups: readonly (readonly TestCapture[])[], options: HarnessWriterOptions = {}): Work {
  return async (machine) => {
    const writer = await HarnessWriter.begin(machine, options);
    if (!writer) return;
    for (const group of groups) if (!(await writer.store(group))) return;
    await writer.seal();
  };
}

class HarnessWriter {
  readonly #machine: Machine;
  readonly #options: HarnessWriterOptions;
  readonly #lease: Lease;
  #row: Segment;
  #attempt = 0;

  static async begin(machine: Machine, options: HarnessWriterOptions): Promise<HarnessWriter | undefined> {
    const lease = await again(() => machine.catalog.takeLease(machine.name, machine.name, LIFE_MS));
    if (!lease) return undefined;
    const segment = { volume: VOLUME, name: `segment-${machine.name}`, collection: 1 };
    const row = await again(() => machine.catalog.listSegment(segment, lease));
    return row && new HarnessWriter(machine, options, lease, row);
  }

  constructor(machine: Machine, options: HarnessWriterOptions, lease: Lease, row: Segment) {
    this.#machine = machine;
    this.#options = options;
    this.#lease = lease;
    this.#row = row;
  }

  /** False: the writer was fenced. */
  async store(group: readonly TestCapture[]): Promise<boolean> {
    const { book, catalog, bucket } = this.#machine;
    book.try(group);
    for (;;) {
      const made = await this.#make(group);
      if (!this.#options.keepsName) this.#attempt++;
      const name = `_pinakes/open/${this.#row.name}/${this.#row.bytes}-${this.#attempt}.part`;
      const part = Buffer.concat(made.members);
      await again(() => bucket.put(name, [part]));
      const bytes = this.#row.bytes + part.length;
      const records = this.#row.records + group.length;
      const parts = [...(this.#row.parts ?? []), { name, offset: this.#row.bytes }];
      const outcome = await again(() =>
        catalog.commit({ ...made.commit, id: name, segments: [this.#move({ bytes, records, parts })] }),
      );
      if (outcome.kind === 'committed') {
        this.#row = { ...this.#row, bytes, records, parts };
        book.acknowledge(group);
        return true;
      }
      if (outcome.kind !== 'stale') return false;
    }
  }

  async seal(): Promise<void> {
    const { catalog, bucket } = this.#machine;
    const { name, parts = [], bytes } = this.#row;
    const fixed = await again(() =>
      catalog.commit({ lease: this.#lease, segments: [this.#move({ state: 'sealing' })] }),
    );
    if (fixed.kind !== 'committed') return;
    this.#row = { ...this.#row, state: 'sealing' };
    const ranges = parts.map((part) => ({ name: part.name, offset: 0, length: bytes }));
    await again(() => bucket.join(name, ranges));
    const sealed = await again(() =>
      catalog.commit({ lease: this.#lease, segments: [this.#move({ state: 'sealed' })] }),
    );
    if (sealed.kind === 'committed') await bucket.remove(parts.map((part) => part.name));
  }

  #move(to: Partial<Segment>): NonNullable<CommitGroup['segments']>[number] {
    return { number: this.#row.number, from: this.#row, to };
  }

  /** The records of a group: full ones of new contents, revisits of held ones. */
  async #make(group: readonly TestCapture[]): Promise<{ members: Uint8Array[]; commit: CommitGroup }> {
    const digests = group.map(({ content }) => fromHex(digestOfContent(content))!);
    const held = await this.#machine.catalog.findBlocks(digests);
    const members: Uint8Array[] = [];
    const blocks: NewBlock[] = [];
    const captures: { capture: Capture; marks: Uint8Array[] }[] = [];
    const referents: NonNullable<CommitGroup['referents']>[number][] = [];
    let offset = this.#row.bytes;
    for (const [index, { id, content }] of group.entries()) {
      const [block] = held[index]!;
      const member = memberOf(content, recordIdOf(id), block !== undefined, urlOf(id));
      const place = { segment: this.#row.number, offset, length: member.length };
      const key = { digest: digests[index]!, overflow: 0 };
      if (block) referents.push(block);
      else blocks.push({ key, size: payloadOf(content).length, holder: place });
      captures.push({ capture: captureAt(id, place, key, block ? 'revisit' : 'response'), marks: [markOf(id)] });
      members.push(member);
      offset += member.length;
    }
    return { members, commit: { lease: this.#lease, referents, blocks, captures } };
  }
}

/** A record of a capture, in a member of its own. */
export function memberOf(content: string, recordId: string, isRevisit = false, targetUri = urlOf(content)): Uint8Array {
  const record: NewRecord = {
    type: isRevisit ? 'revisit' : 'response',
    recordId,
    date: CAPTURE_DATE,
    targetUri,
    contentType: 'application/http; msgtype=response',
    payloadDigest: `sha256:${digestOfContent(content)}`,
    ...(isRevisit && { revisit: { profile: 'identical-payload-digest' } as const }),
  };
  return encoder.encode(recordParts(record, isRevisit ? HTTP_HEAD : Buffer.concat([HTTP_HEAD, payloadOf(content)])));
}

function captureAt(id: string, place: Capture['place'], block: Capture['block'], kind: Capture['kind']): Capture {
  return {
    urlKey: keyOf(id) as UrlKey,
    time: Date.parse(CAPTURE_DATE),
    place,
    url: urlOf(id),
    kind,
    collection: 1,
    status: 200,
    mime: 'text/plain',
    block,
    hash: recordHash(recordIdOf(id)),
  };
}

function recordIdOf(id: string): string {
  return `<urn:test:${id}>`;
}

function markOf(id: string): Uint8Array {
  return hash('sha256', id, 'buffer').subarray(0, 16);
}

/** Deletes one capture, if it is there. */
export function harnessDeleter(id: string): Work {
  return async ({ catalog, book }) => {
    const urlKey = keyOf(id) as UrlKey;
    const [found = []] = await again(() => catalog.findCaptures([{ urlKey, time: Date.parse(CAPTURE_DATE) }]));
    const [capture] = found;
    if (!capture) return;
    book.deletionTried.add(id);
    const outcome = await again(() => catalog.commit({ deletions: [{ capture, mark: markOf(id) }] }));
    if (outcome.kind === 'committed') book.deleted.add(id);
  };
}

/** Asks again while it is not known whether the call was carried out. */
async function again<Answer extends CommitOutcome | Lease | Segment | unknown>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof PinakesError && error.retryable)) throw error;
    }
  }
}
