/**
 * Sends the records of one WARC file to an archive that another machine serves. The file is read and hashed here. Of a
 * response whose content the archive has, only the heads are sent. Everything else is sent as the members it is in, so
 * that the archive keeps the same captures as if the file were added there.
 *
 * Batches end between visits, because the archive decides about the records of a visit together. A batch may be sent
 * again: what has arrived is recognised.
 */
import { constants, gunzipSync } from 'node:zlib';
import { FRAME_BYTES_MAX, formatFrame, parseW3cDate, toHex } from '../../base/index.ts';
import type { ContentsClient, RecordsReport } from '../../client/index.ts';
import {
  type Coding,
  SCAN_ARC,
  SCAN_CHUNKED,
  SCAN_COMPLETE,
  SCAN_HTTP,
  SCAN_LOOSE,
  SCAN_NOT_UTF8,
  SCAN_ODD,
  SCAN_SEGMENTED,
  SCAN_TORN,
  type ScanBatch,
} from '../../warc/index.ts';
import { fileSource, readPart } from './http-put.ts';

/** A field of records that an archive has written anew: the identity of the capture. */
export const IDENTITY_FIELD = 'pinakes-capture-id';

const BATCH_RECORDS = 1000;
const BATCH_BYTES = 8 * 1024 * 1024;
/** Smaller payloads are sent, since a revisit would hardly be smaller. */
const REFERRED_BYTES_MIN = 512;
/** How much of a member is read for its heads. */
const HEAD_BYTES_MAX = 64 * 1024;
const ROUNDS_MAX = 4;
const UNREFERRED = SCAN_CHUNKED | SCAN_ARC | SCAN_LOOSE | SCAN_NOT_UTF8 | SCAN_ODD | SCAN_SEGMENTED | SCAN_TORN;

type SentRecord = {
  readonly offset: number;
  readonly length: number;
  readonly url: string;
  readonly date: string;
  readonly id: string;
  readonly concurrentTo: string;
  /** What the record refers to when its content is held. Undefined: the record is always sent whole. */
  readonly payload: { readonly digest: string; readonly size: number; readonly headBytes: number } | undefined;
};

/** The records share members, or are ARC records: the file has to be sent as a whole. */
export class WholeFileNeeded extends Error {}

export type SendOptions = {
  readonly client: ContentsClient;
  readonly path: string;
  readonly coding: Coding;
  readonly extension: string;
  readonly collection: string | undefined;
  readonly onReport: (report: RecordsReport) => void;
  readonly onSent: (bytes: number) => void;
};

export class RecordSender {
  readonly #options: SendOptions;
  #waiting: SentRecord[] = [];
  #waitingBytes = 0;

  constructor(options: SendOptions) {
    this.#options = options;
  }

  /** Takes the records of a scan, and sends them when there are enough. */
  async take(batch: ScanBatch): Promise<void> {
    for (let index = 0; index < batch.count; index++) {
      const record = recordIn(batch, index);
      const last = this.#waiting.at(-1);
      const isFull = this.#waiting.length >= BATCH_RECORDS || this.#waitingBytes + record.length > BATCH_BYTES;
      if (last && isFull && !isSameVisit(last, record)) await this.end();
      this.#waiting.push(record);
      this.#waitingBytes += record.length;
    }
  }

  /** Sends the rest. */
  async end(): Promise<void> {
    const records = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (records.length === 0) return;
    const { client, collection, extension, onReport, onSent } = this.#options;
    const digests = new Set(records.flatMap(({ payload }) => (payload ? [payload.digest] : [])));
    const missing = new Set(await client.missing([...digests]));
    for (let round = 1; ; round++) {
      const { frames, referred } = await this.#framesOf(records, missing);
      const options = { extension, ...(collection !== undefined && { collection }) };
      const reply = await client.addRecords(frames, options);
      if (reply.report) {
        onReport(reply.report);
        onSent(frames.length);
        return;
      }
      if (round === ROUNDS_MAX) throw new Error('the server lacks contents although they were sent');
      // The contents were deleted since the server was asked.
      for (const index of reply.missing) missing.add(referred[index]!);
    }
  }

  async #framesOf(
    records: readonly SentRecord[],
    missing: ReadonlySet<string>,
  ): Promise<{ frames: Buffer; referred: string[] }> {
    const frames: Buffer[] = [];
    const referred: string[] = [];
    const hints: Buffer[] = [];
    for (const record of records) {
      const { payload, offset, length, url, date, id } = record;
      const heads =
        payload && !missing.has(payload.digest) ? await this.#headsOf(record, payload.headBytes) : undefined;
      if (payload && heads) {
        referred.push(payload.digest);
        const named = JSON.stringify({ digest: payload.digest, size: payload.size });
        frames.push(formatFrame('H', heads), formatFrame('P', named));
        continue;
      }
      if (length > BATCH_BYTES) frames.push(await this.#sendMember(offset, length));
      else {
        const member = await readPart(this.#options.path, offset, offset + length);
        for (let at = 0; at < length; at += FRAME_BYTES_MAX)
          frames.push(formatFrame('W', member.subarray(at, at + FRAME_BYTES_MAX)));
      }
      const time = parseW3cDate(date);
      if (payload && time !== undefined)
        hints.push(formatFrame('I', JSON.stringify({ digest: payload.digest, url, time, id })));
    }
    return { frames: Buffer.concat([...frames, ...hints]), referred };
  }

  /** A large member is sent before the batch, in pieces that survive a cut. */
  async #sendMember(offset: number, length: number): Promise<Buffer> {
    const source = await fileSource(this.#options.path, offset, offset + length);
    await this.#options.client.send(source);
    this.#options.onSent(length);
    return formatFrame('M', JSON.stringify({ digest: source.digest, size: source.size }));
  }

  /** The head of a record and the HTTP head of its block. Undefined when they are not at the start of the member. */
  async #headsOf({ offset, length }: SentRecord, headBytes: number): Promise<Buffer | undefined> {
    const { path, coding } = this.#options;
    const start = await readPart(path, offset, offset + Math.min(length, HEAD_BYTES_MAX));
    const decoded = coding === 'gzip' ? gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }) : start;
    const heads = decoded.subarray(0, headBytes);
    return heads.length === headBytes && headBytes < FRAME_BYTES_MAX ? heads : undefined;
  }
}

/** Sends a file as it is. The server reads it as `add` does there. */
export async function sendWholeFile({
  client,
  path,
  extension,
  collection,
  onReport,
  onSent,
}: SendOptions): Promise<void> {
  const source = await fileSource(path);
  await client.send(source);
  const { digest, size } = source;
  const frames = formatFrame('M', JSON.stringify({ digest, size }));
  const { report } = await client.addRecords(frames, { extension, ...(collection !== undefined && { collection }) });
  if (report) onReport(report);
  onSent(size);
}

function recordIn(batch: ScanBatch, index: number): SentRecord {
  const { columns } = batch;
  const length = columns.length[index]!;
  if (length < 0 || batch.has(index, SCAN_ARC) || batch.has(index, SCAN_TORN)) throw new WholeFileNeeded();
  const size = columns.payloadBytes[index]!;
  const httpHeadBytes = columns.httpHeadBytes[index]!;
  const isReferrable =
    batch.text(index, 'type') === 'response' &&
    batch.has(index, SCAN_HTTP) &&
    batch.has(index, SCAN_COMPLETE) &&
    !batch.has(index, UNREFERRED) &&
    size >= REFERRED_BYTES_MIN &&
    columns.blockBytes[index]! === httpHeadBytes + size;
  return {
    offset: columns.offset[index]!,
    length,
    url: batch.text(index, 'targetUri'),
    date: batch.text(index, 'date'),
    id: batch.text(index, IDENTITY_FIELD) || batch.text(index, 'recordId'),
    concurrentTo: batch.text(index, 'concurrentTo'),
    payload: isReferrable
      ? { digest: toHex(batch.digest(index)), size, headBytes: columns.headBytes[index]! + httpHeadBytes }
      : undefined,
  };
}

/** Whether two records that follow one another belong to one visit of a crawler. */
function isSameVisit(one: SentRecord, next: SentRecord): boolean {
  if (next.concurrentTo !== '' && (next.concurrentTo === one.id || next.concurrentTo === one.concurrentTo)) return true;
  if (one.concurrentTo !== '' && one.concurrentTo === next.id) return true;
  return one.url !== '' && one.url === next.url && one.date === next.date;
}
