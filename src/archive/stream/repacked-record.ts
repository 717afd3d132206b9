/**
 * A record that is written into a WARC file with another compression than its segment. Its head and block stay as they
 * are. Only parts that are not valid in WARC change: an ARC record gets an equivalent WARC head, a truncated record
 * gets its real length, and an odd record is written as the standard asks, with another id.
 */
import { join } from 'node:path';
import type { IdSource } from '../../base/index.ts';
import type { Segment } from '../../catalog/index.ts';
import { CAPTURE_ID_FIELD, captureIdOf } from '../../ledger/index.ts';
import {
  convertArcHead,
  type Field,
  fieldsOf,
  headBytes,
  type RecordHead,
  type StreamedBlock,
  soundFields,
  soundVersion,
} from '../../warc/index.ts';
import { oneLine } from '../revisit/repointed.ts';
import { Spool } from '../write/spool.ts';

/** A record while it is being read. */
export type RecordSource = { readonly head: RecordHead; body(): AsyncIterable<Uint8Array> };

export type RepackOptions = {
  readonly newId: IdSource;
  readonly scratch: string;
  /** Whether an odd record is written as it is. */
  readonly asItIs?: boolean;
};

/** Whether the members of a segment can be copied into a `.warc.gz` file as they are. */
export function isWarcGzip(segment: Segment): boolean {
  return /\.warc\.gz$/i.test(segment.name);
}

export class RepackedRecord implements AsyncDisposable {
  readonly head: Uint8Array;
  readonly #spool: Spool;

  private constructor(head: Uint8Array, spool: Spool) {
    this.head = head;
    this.#spool = spool;
  }

  /** Reads the record to its end, in memory while it is small. */
  static async take(record: RecordSource, { newId, scratch, asItIs = false }: RepackOptions): Promise<RepackedRecord> {
    const { head } = record;
    const kind = { type: head.type, url: head.targetUri ?? '', contentType: head.contentType ?? '' };
    const path = join(scratch, `repacked-${newId().replace(/[^A-Za-z0-9]+/g, '')}`);
    const spool = await Spool.take(kind, new Uint8Array(0), record.body(), path);
    const isKept = asItIs && head.form === 'odd' && head.format === 'warc' && head.contentLength === spool.length;
    return new RepackedRecord(isKept ? head.bytes : repackedHead(head, spool, newId), spool);
  }

  get block(): StreamedBlock {
    return this.#spool.block;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#spool.discard();
  }
}

function repackedHead(head: RecordHead, spool: Spool, newId: IdSource): Uint8Array {
  const { http, payloadDigests } = spool.facts;
  if (head.format === 'arc') {
    const document = {
      isHttp: http !== undefined,
      payloadDigest: payloadDigests[0]!,
      blockDigest: spool.blockDigest,
    };
    const converted = convertArcHead(head, document, { newId, warcinfoId: '' });
    const named = (converted.fields ?? []).filter(({ value }) => value !== '');
    const fields = [...named, { name: CAPTURE_ID_FIELD, value: captureIdIn(head, spool) }];
    return headBytes(fieldsOf({ ...converted, fields }, spool.length));
  }
  if (head.form === 'sound' && head.contentLength === spool.length) return head.bytes;
  const isOdd = head.form === 'odd';
  const sound = isOdd ? soundFields(head) : head.fields;
  if (!sound) return head.bytes;
  const fields = [...sound.filter(({ name }) => name.toLowerCase() !== 'content-length').map(oneLine)];
  if (head.contentLength !== spool.length && head.get('warc-truncated') === undefined)
    fields.push({ name: 'WARC-Truncated', value: 'unspecified' });
  const all = [...fields, { name: 'Content-Length', value: String(spool.length) }];
  return headBytes(isOdd ? renamed(all, head, spool, newId) : all, soundVersion(head));
}

/** The fields of the record that replaces an odd one and names it. */
function renamed(fields: readonly Field[], head: RecordHead, spool: Spool, newId: IdSource): Field[] {
  const others = fields.filter(({ name }) => !/^warc-(record|previous-record)-id$|^pinakes-capture-id$/i.test(name));
  const ids = [{ name: 'WARC-Record-ID', value: newId() }];
  if (head.recordId)
    ids.push({ name: 'WARC-Previous-Record-ID', value: oneLine({ name: '', value: head.recordId }).value });
  return [
    ...others.slice(0, 1),
    ...ids,
    { name: CAPTURE_ID_FIELD, value: captureIdIn(head, spool) },
    ...others.slice(1),
  ];
}

function captureIdIn(head: RecordHead, { facts }: Spool): string {
  return captureIdOf({
    captureId: head.get(CAPTURE_ID_FIELD) ?? '',
    recordId: head.recordId ?? '',
    url: head.targetUri ?? '',
    date: head.standardDate ?? '',
    payloadDigest: facts.payloadDigests[0]!.bytes,
  });
}
