/**
 * Surplus records as revisits. A full record is surplus when its writer lost a race: another record holds the content
 * (I12). It becomes a revisit where that is worth it, by the rule of an add. A copy of a content is given up only when
 * the holder was read to its end and has the right digest (I15).
 */
import { isUtf8 } from 'node:buffer';
import { equal, parseDigest, RunningDigest } from '../../base/index.ts';
import type { Block, Segment, SurplusRecord } from '../../catalog/index.ts';
import {
  CAPTURE_ID_FIELD,
  CARRIED_FIELDS,
  CHANGED_MAX,
  CONTENT_FIELD,
  DECLARED_FIELD,
  factsOfRecord,
  OVERFLOW_FIELD,
} from '../../ledger/index.ts';
import {
  BlockScanner,
  type Field,
  fieldsOf,
  isWorthRevisit,
  type NewRecord,
  type ReadingRecord,
  type RecordHead,
  recordParts,
  SOURCE_DATE_FIELD,
} from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { blockId } from '../revisit/catalog-draft.ts';
import { referentOf } from '../revisit/referent.ts';
import { revisitDigest } from '../write/referents.ts';

/** Fields of a full record that stay true for the revisit. */
const KEPT_FIELDS = new Set([...CARRIED_FIELDS, DECLARED_FIELD, SOURCE_DATE_FIELD]);

export type SurplusRevisits = {
  /** The revisits by the offsets of the full records, in parts to encode. */
  readonly share: ReadonlyMap<number, readonly Uint8Array[]>;
  /** Offsets of records that stay as they are: they hold their contents, or a revisit would not be smaller. */
  readonly stay: readonly number[];
};

/** At most as many as fit into one replacement. Records that cannot be read now, or their holders, are left out. */
export async function surplusRevisits(archive: OpenedArchive, segment: Segment): Promise<SurplusRevisits> {
  const share = new Map<number, readonly Uint8Array[]>();
  const stay: number[] = [];
  for (const surplus of await archive.catalog.surplusRecords(segment.number)) {
    if (share.size === CHANGED_MAX) break;
    const revisit = await revisitOf(archive, segment, surplus);
    if (revisit === 'none') stay.push(surplus.offset);
    else if (revisit) share.set(surplus.offset, revisit);
  }
  return { share, stay };
}

/** `none`: the record stays a full one. Undefined: it is not known now. */
async function revisitOf(
  { access, catalog, newId, fingerprint, dedupBytesMin }: OpenedArchive,
  segment: Segment,
  { offset, block: key }: SurplusRecord,
): Promise<readonly Uint8Array[] | 'none' | undefined> {
  const [block] = await catalog.getBlocks([key]);
  if (!block || (block.holder.segment === segment.number && block.holder.offset === offset)) return 'none';
  const place = { segment: segment.number, offset, length: segment.bytes - offset };
  for await (const record of access.records(place)) {
    if (record.head.offset !== offset) return undefined;
    const { head } = record;
    const scanned = await scan(record);
    if (!scanned || !equal(fingerprint(scanned.digest), key.digest) || scanned.payloadBytes !== block.size)
      return undefined;
    if (!scanned.http || !isShareable(head)) return 'none';
    const holder = await soundHolder(access, block, scanned.digest);
    if (!holder) return undefined;
    const revisit = revisitRecord(head, holder, block, scanned.digest, newId());
    const heads = { own: head.fields, revisit: fieldsOf(revisit, scanned.http.length) };
    return isWorthRevisit(block.size, heads, dedupBytesMin) ? recordParts(revisit, scanned.http) : 'none';
  }
  return undefined;
}

/** The same rule as for a record that is added: see add-step.ts. */
function isShareable(head: RecordHead): boolean {
  return head.type === 'response' && head.get('warc-segment-number') === undefined && isUtf8(head.bytes);
}

type Scanned = {
  readonly digest: Uint8Array;
  readonly payloadBytes: number;
  /** Undefined: the record cannot be a revisit. */
  readonly http: Uint8Array | undefined;
};

/** Undefined: the record is damaged. */
async function scan(record: ReadingRecord): Promise<Scanned | undefined> {
  const scanner = new BlockScanner(record.head, { payload: ['sha256'] });
  for await (const piece of record.body()) scanner.push(piece);
  if (record.damage.length > 0 || record.tail?.isComplete !== true) return undefined;
  const block = scanner.end();
  const { isOdd, payloadDigest, payloadBytes } = factsOfRecord(record.head, block, record.tail.length, true);
  return { digest: payloadDigest, payloadBytes, http: isOdd ? undefined : block.http?.bytes };
}

/** The head of the record that holds the content. Undefined: the content cannot be read there. */
async function soundHolder(
  access: OpenedArchive['access'],
  { holder }: Block,
  digest: Uint8Array,
): Promise<RecordHead | undefined> {
  const record = await access.openSound(holder, undefined);
  if (!('payload' in record)) return undefined;
  const running = new RunningDigest('sha256');
  for await (const piece of record.payload) running.update(piece);
  return record.damage().length === 0 && equal(running.finish().bytes, digest) ? record.head : undefined;
}

function revisitRecord(
  own: RecordHead,
  holder: RecordHead,
  { key }: Block,
  sha256: Uint8Array,
  recordId: string,
): NewRecord {
  const id = own.recordId ?? '';
  const declared = own.get('warc-payload-digest') ?? '';
  const holderDigest = holder.get('warc-payload-digest') ?? '';
  const digest = revisitDigest({ algorithm: 'sha256', bytes: sha256 }, holderDigest);
  const fields: Field[] = own.fields.filter(({ name }) => KEPT_FIELDS.has(name.toLowerCase()));
  fields.push({ name: 'WARC-Previous-Record-ID', value: id });
  fields.push({ name: CAPTURE_ID_FIELD, value: own.get(CAPTURE_ID_FIELD) ?? id });
  if (digest === holderDigest) fields.push({ name: CONTENT_FIELD, value: blockId(key) });
  const isForeign = parseDigest(declared) !== undefined && parseDigest(declared)!.algorithm !== 'sha256';
  if (isForeign && declared !== digest && own.get(DECLARED_FIELD) === undefined)
    fields.push({ name: DECLARED_FIELD, value: declared });
  if (key.overflow > 0) fields.push({ name: OVERFLOW_FIELD, value: String(key.overflow) });
  return {
    type: 'revisit',
    recordId,
    date: own.standardDate,
    targetUri: own.targetUri,
    payloadDigest: digest,
    contentType: 'application/http; msgtype=response',
    revisit: { profile: 'identical-payload-digest', ...referentOf(holder), truncated: true },
    fields,
  };
}
