/**
 * Puts a segment that was written anew into the place of the one it replaces: every capture moves to where its record stands now, every content that
 * the old segment held moves with it, and then the old segment goes.
 *
 * It reads the new segment back from its bytes, so what the catalog comes to say is what really stands there. Interrupted and run again it does what
 * is left to do; the next opening of the archive sees to that.
 */
import { assert } from '../base/index.ts';
import type { Capture, Segment } from '../catalog/index.ts';
import { urlKey } from '../url/index.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { recordsOf } from './cataloguing.ts';
import { captureHash, captureKindOf, type RecordFacts, timeOf } from './record-facts.ts';

/** Says, by name, which segment is taking which one's place right now. */
export const ADOPTING_NOTE = 'adopting:';

const BATCH_RECORDS = 1000;

export async function adoptSegment(archive: ArchiveParts, fresh: Segment, replaced: Segment): Promise<Segment> {
  const { catalog, shelf, volumes, tombstones } = archive;
  const [info] = await volumes.get(fresh.volume).stat([fresh.name]);
  assert(info?.sealed, 'only a finished segment takes the place of another');
  const dead = await tombstones.read(fresh);
  let current: Segment = { ...fresh, state: 'sealed', bytes: info.bytes, records: 0, deadBytes: 0 };
  shelf.put(current);
  await catalog.write({ putSegments: [current], putNotes: { [ADOPTING_NOTE + fresh.name]: replaced.name } });
  let group: RecordFacts[] = [];
  const parts = {
    catalog,
    volumes,
    access: archive.access,
    fingerprint: (digest: Uint8Array) => archive.fingerprint(digest),
    onFinding: (finding: Parameters<typeof archive.report>[0]) => archive.report(finding),
  };
  const commit = async () => {
    current = await adoptGroup(archive, current, replaced, group, dead);
    group = [];
  };
  for await (const facts of recordsOf(parts, current, 0)) {
    group.push(facts);
    if (group.length >= BATCH_RECORDS) await commit();
  }
  await commit();
  await catalog.write({
    removeSegments: [replaced.number],
    putSegments: [current],
    removeNotes: [ADOPTING_NOTE + fresh.name],
    durable: true,
  });
  shelf.put(current);
  shelf.forget(replaced.number);
  await volumes.get(replaced.volume).remove([replaced.name]);
  await tombstones.remove(replaced);
  return current;
}

async function adoptGroup(
  archive: ArchiveParts,
  segment: Segment,
  replaced: Segment,
  group: readonly RecordFacts[],
  dead: ReadonlySet<number>,
): Promise<Segment> {
  const draft = archive.newDraft();
  const captures = group.filter((facts) => captureKindOf(facts) !== undefined);
  await draft.load(
    captures.filter((facts) => facts.type !== 'revisit').map((facts) => archive.fingerprint(facts.payloadDigest)),
  );
  const found = await archive.catalog.findCaptures(
    captures.map((facts) => ({ urlKey: urlKey(facts.url), time: timeOf(facts)! })),
  );
  await draft.load(found.flat().flatMap((capture) => (capture.block ? [capture.block.digest] : [])));
  let deadBytes = segment.deadBytes;
  for (const [index, facts] of captures.entries()) {
    const place = { segment: segment.number, offset: facts.offset, length: facts.length! };
    if (dead.has(facts.offset)) deadBytes += facts.length!;
    else moveCapture(draft, found[index]!, facts, place, segment.collection);
    if (facts.type === 'revisit') continue;
    for (const block of draft.blocksOf(archive.fingerprint(facts.payloadDigest))) {
      const isPromoted =
        facts.captureId !== '' && block.size === facts.payloadBytes && block.key.overflow === facts.overflow;
      const isMoved = block.holder.segment === replaced.number && block.size === facts.payloadBytes;
      if (isMoved || (isPromoted && !dead.has(facts.offset))) draft.moveHolder(block.key, place);
    }
  }
  const next: Segment = { ...segment, records: segment.records + group.length, deadBytes };
  draft.putSegment(next);
  await archive.catalog.write(draft.batch());
  return next;
}

function moveCapture(
  draft: ReturnType<ArchiveParts['newDraft']>,
  found: readonly Capture[],
  facts: RecordFacts,
  place: Capture['place'],
  collection: number,
): void {
  const hash = captureHash(facts);
  const known = found.find((capture) => capture.hash === hash && capture.collection === collection);
  if (!known || known.place.segment === place.segment) return;
  draft.moveCapture(known, { ...known, place, kind: captureKindOf(facts)! });
}
