/** Stores captures through the real segment writer: one commit for each group, and the segment sealed in the end. */
import { fromHex, PinakesError } from '../../src/base/index.ts';
import type { Block, BlockKey, Capture, NewBlock, NewCapture } from '../../src/catalog/index.ts';
import { marksOf, type OpenSegment, type RecordGroup, recordHash, type SegmentWriter } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { CAPTURE_DATE, digestOfContent, keyOf, payloadOf, type TestCapture, urlOf } from './book.ts';
import { memberOf } from './harness-writer.ts';
import { COLLECTION, CONTENTS, type WriterOptions, writerLease, writerOf } from './ledger-machine.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 6;

export type LedgerWriterOptions = WriterOptions & {
  /** Default: the segment is sealed after the last group. */
  readonly staysOpen?: boolean;
};

export function ledgerWriter(
  groups: readonly (readonly TestCapture[])[],
  { staysOpen = false, ...options }: LedgerWriterOptions = {},
): Work {
  return async (machine) => {
    try {
      const given = await writerLease(machine, options);
      if (!given) return;
      const writer = writerOf(machine, { lease: given === 'none' ? undefined : given, ...options });
      await storeGroups(machine, writer, groups);
      if (!staysOpen) for (const open of writer.openSegments()) if (open.segment.bytes > 0) await writer.seal(open);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}

/** Whether the process had no answer for too long, or lost its lease. */
export function isGivenUp(error: unknown): boolean {
  return error instanceof PinakesError && (error.retryable || error.code === 'LEASE_LOST');
}

export async function storeGroups(
  machine: Machine,
  writer: SegmentWriter,
  groups: readonly (readonly TestCapture[])[],
): Promise<void> {
  for (const group of groups) {
    machine.book.try(group);
    const result = await storeGroup(machine, writer, group);
    if (result === 'stored') machine.book.acknowledge(group);
    if (result === 'given up') return;
  }
}

async function storeGroup(
  machine: Machine,
  writer: SegmentWriter,
  captures: readonly TestCapture[],
): Promise<'stored' | 'refused' | 'given up'> {
  let group = captures;
  for (let tried = 0; tried < TRIES && group.length > 0; tried++) {
    const open = await writer.openFor(CONTENTS);
    const made = await makeGroup(machine, writer, open, group);
    try {
      const outcome = await writer.commit(made);
      if (outcome.kind === 'committed') return 'stored';
      if (outcome.kind === 'fenced' || outcome.kind === 'unknown') return 'given up';
      await writer.rollBack();
      if (outcome.kind === 'barred' || outcome.kind === 'moved') return 'refused';
      if (outcome.kind === 'known') {
        if (outcome.deleted.length > 0) return 'refused';
        group = group.filter((_, index) => !outcome.captures.includes(index));
      }
    } catch (error) {
      if (!isGivenUp(error)) throw error;
      await writer.rollBack();
      return 'refused';
    }
  }
  return group.length === 0 ? 'stored' : 'refused';
}

/** Appends the records of a group: full ones of new contents, revisits of those that are held. */
async function makeGroup(
  { catalog }: Machine,
  writer: SegmentWriter,
  open: OpenSegment,
  group: readonly TestCapture[],
): Promise<RecordGroup> {
  const keys = group.map(({ content }) => ({ digest: fromHex(digestOfContent(content))!, overflow: 0 }));
  const held = await catalog.findBlocks(keys.map(({ digest }) => digest));
  const blocks: NewBlock[] = [];
  const captures: NewCapture[] = [];
  const referents: Block[] = [];
  for (const [index, { id, content, isForced = false }] of group.entries()) {
    const key = keys[index]!;
    const block = held[index]![0];
    const isOwn = group.slice(0, index).some((earlier) => earlier.content === content);
    const isRevisit = !isForced && (block !== undefined || isOwn);
    const place = writer.append(open, memberOf(content, recordIdOf(id), isRevisit, urlOf(id)));
    if (!isRevisit) blocks.push({ key, size: payloadOf(content).length, holder: place, isSpare: isForced });
    else if (!isOwn) referents.push(block!);
    const capture = captureAt(id, place, key, isRevisit);
    captures.push({ capture, marks: marksOf(capture, COLLECTION) });
  }
  return { blocks, captures, referents };
}

function recordIdOf(id: string): string {
  return `<urn:test:${id}>`;
}

function captureAt(id: string, place: Capture['place'], block: BlockKey, isRevisit: boolean): Capture {
  return {
    urlKey: keyOf(id) as UrlKey,
    time: Date.parse(CAPTURE_DATE),
    place,
    url: urlOf(id),
    kind: isRevisit ? 'revisit' : 'response',
    collection: 1,
    status: 200,
    mime: 'text/plain',
    block,
    hash: recordHash(recordIdOf(id)),
  };
}
