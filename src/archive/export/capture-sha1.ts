/**
 * The SHA-1 digests of captures, for indexes that accept only SHA-1. The catalog does not have these digests. They are
 * declared by the records of the captures, or computed from the payloads.
 */
import { formatDigest, PinakesError, RunningDigest } from '../../base/index.ts';
import type { Block, Capture, Place } from '../../catalog/index.ts';
import { DECLARED_FIELD } from '../../ledger/index.ts';
import { cdxDigest } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const HEADS_AT_ONCE = 64;

/**
 * The digest of each capture as text. Undefined when the capture does not have one, or when its record cannot be read.
 */
export async function sha1sOf(
  archive: OpenedArchive,
  captures: readonly Capture[],
  computes: boolean,
): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  for (let at = 0; at < captures.length; at += HEADS_AT_ONCE)
    found.push(...(await declaredBy(archive, captures.slice(at, at + HEADS_AT_ONCE))));
  if (!computes) return found;
  const blocks = captures.filter(({ block }, index) => block && found[index] === undefined).map(({ block }) => block!);
  const held = (await archive.catalog.getBlocks(blocks)).values();
  for (const [index, { block }] of captures.entries())
    if (block && found[index] === undefined) found[index] = await computedOf(archive, held.next().value);
  return found;
}

async function declaredBy(archive: OpenedArchive, captures: readonly Capture[]): Promise<(string | undefined)[]> {
  // Compaction may have removed a segment since the captures were listed.
  const places: Place[] = [];
  for (const { place } of captures) if (await archive.segmentRegistry.find(place.segment)) places.push(place);
  const heads = (await archive.access.heads(places)).values();
  return captures.map(({ place }) => {
    const head = places.includes(place) ? heads.next().value : undefined;
    return [head?.get('warc-payload-digest'), head?.get(DECLARED_FIELD)].find((text) => cdxDigest(text) !== undefined);
  });
}

async function computedOf(archive: OpenedArchive, block: Block | undefined): Promise<string | undefined> {
  if (!block) return undefined;
  try {
    const { payload, damage } = await archive.access.open(block.holder);
    const digest = new RunningDigest('sha1');
    for await (const piece of payload) digest.update(piece);
    return damage().length > 0 ? undefined : formatDigest(digest.finish());
  } catch (error) {
    if (error instanceof PinakesError) return undefined;
    throw error;
  }
}
