/**
 * Deletes captures, or takes a content down, as the ledger does: by deletion records in a segment of the deleter's own,
 * one for each commit (D1, D2). A takedown bars the content first, so that what it then finds is all there is (D3).
 */
import { formatW3cDate, fromHex, toHex } from '../../src/base/index.ts';
import type { Bar, Capture } from '../../src/catalog/index.ts';
import { deletionMarksOf, deletionRecord, type SegmentWriter } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { MemberEncoder, recordParts } from '../../src/warc/index.ts';
import { CAPTURE_DATE, digestOfContent, idOf, keyOf } from './book.ts';
import { COLLECTION, DELETIONS, leaseOf, type WriterOptions, writerOf } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 4;
const encoder = new MemberEncoder({ coding: 'gzip', level: 1 });

type Wanted = { readonly capture: string } | { readonly takedown: string };

export type LedgerDeleterOptions = WriterOptions & { readonly staysOpen?: boolean };

export function ledgerDeleter(wanted: Wanted, { staysOpen = false, ...options }: LedgerDeleterOptions = {}): Work {
  return async (machine) => {
    try {
      const held = await leaseOf(machine);
      if (!held) return;
      const writer = writerOf(machine, { lease: held.lease, ...options });
      if ('capture' in wanted) await deleteCapture(machine, writer, wanted.capture);
      else await takeDown(machine, writer, wanted.takedown);
      if (!staysOpen) for (const open of writer.openSegments()) if (open.segment.bytes > 0) await writer.seal(open);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}

async function deleteCapture(machine: Machine, writer: SegmentWriter, id: string): Promise<void> {
  const { catalog, book } = machine;
  for (let tried = 0; tried < TRIES; tried++) {
    const [found = []] = await catalog.findCaptures([{ urlKey: keyOf(id) as UrlKey, time: Date.parse(CAPTURE_DATE) }]);
    if (found.length === 0) return;
    const outcome = await commitDeletion(machine, writer, found, []);
    if (outcome === 'committed') book.deleted.add(id);
    if (outcome !== 'moved') return;
  }
}

async function takeDown(machine: Machine, writer: SegmentWriter, content: string): Promise<void> {
  const { catalog, book } = machine;
  book.barTried.add(content);
  const digest = fromHex(digestOfContent(content))!;
  const isBarred = await commitDeletion(machine, writer, [], [{ kind: 'content', digest }]);
  if (isBarred !== 'committed') return;
  for (let tried = 0; tried < TRIES; tried++) {
    const captures: Capture[] = [];
    for await (const page of catalog.captures({}))
      captures.push(...page.filter(({ block }) => block && toHex(block.digest) === toHex(digest)));
    if (captures.length === 0) {
      book.barred.add(content);
      return;
    }
    const outcome = await commitDeletion(machine, writer, captures, []);
    if (outcome === 'committed') for (const { url } of captures) book.deleted.add(idOf(url));
    else if (outcome !== 'moved') return;
  }
}

async function commitDeletion(
  { book, clock, ids }: Machine,
  writer: SegmentWriter,
  captures: readonly Capture[],
  bars: readonly Bar[],
): Promise<string> {
  for (const { url } of captures) book.deletionTried.add(idOf(url));
  const marks = captures.map((capture) => deletionMarksOf(capture, COLLECTION));
  const time = formatW3cDate(clock());
  const { record, block } = deletionRecord({ time, request: 'simulated', marks: marks.flat(), bars }, ids());
  try {
    writer.append(await writer.openFor(DELETIONS), encoder.encode(recordParts(record, block)));
    const outcome = await writer.commit({
      deletions: captures.map((capture, index) => ({ capture, mark: marks[index]![0]! })),
      deletedMarks: marks.flatMap((some) => some.slice(1)),
      bars,
    });
    if (outcome.kind !== 'committed' && outcome.kind !== 'unknown') await writer.rollBack();
    return outcome.kind;
  } catch (error) {
    if (!isGivenUp(error)) throw error;
    await writer.rollBack();
    return 'given up';
  }
}
