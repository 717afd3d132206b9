/**
 * What the warcinfo record of one of our own segments says of the segment itself, besides software and format. A
 * rebuild knows nothing else of the segment than this and its records.
 *
 * ```
 *   pinakes-lease: <name of the lease>/<incarnation>-<epoch>       the lease under which the segment was begun
 *   pinakes-sequence: <n>                                          its place in the order of all segments (R4)
 *   pinakes-replaces: <name of a segment>                          a line for each segment that it replaces (K1)
 * ```
 * Segments of archives of version 1 have at most the last field.
 */
import { assert } from '../base/index.ts';
import type { Lease } from '../catalog/index.ts';
import { isObjectName } from '../volume/index.ts';
import type { Field } from '../warc/index.ts';

const LEASE = 'pinakes-lease';
const SEQUENCE = 'pinakes-sequence';
const REPLACES = 'pinakes-replaces';

/** Every field that the archive writes about its own segments. */
export const SEGMENT_FIELDS: readonly string[] = [LEASE, SEQUENCE, REPLACES];

export type SegmentOrigin = {
  readonly lease: Lease | undefined;
  readonly sequence: number | undefined;
  /** Names of the segments that this one replaces. */
  readonly replaces: readonly string[];
};

export type ParsedOrigin = SegmentOrigin & {
  /** Fields of ours that cannot be read. What they would say is left out. */
  readonly damagedFields: readonly string[];
};

export function formatOrigin({ lease, sequence, replaces }: SegmentOrigin): Field[] {
  const fields: Field[] = [];
  if (lease) {
    assert(!/[\r\n]/.test(lease.name) && lease.name !== '', 'the name of a lease is one line');
    fields.push({ name: LEASE, value: `${lease.name}/${lease.incarnation}-${lease.epoch}` });
  }
  if (sequence !== undefined) fields.push({ name: SEQUENCE, value: String(sequence) });
  for (const name of replaces) fields.push({ name: REPLACES, value: name });
  return fields;
}

/** What the block of a warcinfo record says. The fields of others are ignored. */
export function parseOrigin(warcinfo: string): ParsedOrigin {
  let lease: Lease | undefined;
  let sequence: number | undefined;
  const replaces: string[] = [];
  const damagedFields: string[] = [];
  for (const line of warcinfo.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === LEASE && !lease) {
      lease = parseLease(value);
      if (!lease) damagedFields.push(LEASE);
    } else if (name === SEQUENCE && sequence === undefined) {
      sequence = parseCount(value);
      if (sequence === undefined) damagedFields.push(SEQUENCE);
    } else if (name === REPLACES) {
      if (isObjectName(value)) replaces.push(value);
      else damagedFields.push(REPLACES);
    }
  }
  return { lease, sequence, replaces, damagedFields };
}

/** The name of a lease may have slashes in it. */
function parseLease(value: string): Lease | undefined {
  const match = /^(.+)\/(\d+)-(\d+)$/.exec(value);
  if (!match) return undefined;
  const [, name, incarnationText, epochText] = match;
  const incarnation = parseCount(incarnationText!);
  const epoch = parseCount(epochText!);
  return incarnation === undefined || epoch === undefined ? undefined : { name: name!, incarnation, epoch };
}

function parseCount(text: string): number | undefined {
  const count = Number(text);
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(count) ? count : undefined;
}
