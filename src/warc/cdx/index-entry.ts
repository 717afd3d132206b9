/**
 * Makes the same index lines from records as cdxj-indexer: for responses, revisits, resources and metadata, except
 * records of `application/warc-fields`. A record without a payload digest gets the SHA-1 of its stored body, with chunk
 * framing, as in cdxj-indexer. A revisit gets no digest, because its body is elsewhere.
 */
import { type DigestAlgorithm, formatDigest, formatTimestamp } from '../../base/index.ts';
import { requestBodyQuery, requestKey, urlKey } from '../../url/index.ts';
import type { HttpHead } from '../http/http-head.ts';
import { BlockScanner } from '../read/block-scanner.ts';
import type { ReadingRecord } from '../read/record-reader.ts';
import type { RecordHead } from '../record/record-head.ts';
import { cdxDigest } from './cdx.ts';
import { type CdxEntry, type CdxExtra, NO_EXTRA } from './cdx-entry.ts';

const INDEXED_TYPES = new Set(['response', 'revisit', 'resource', 'metadata']);
const REQUEST_BODY_BYTES_MAX = 64 * 1024;

export type CdxIndexOptions = {
  /** Name of the file in the lines. */
  readonly filename: string;
  /**
   * Adds method and body of requests other than GET to the keys of their responses: replay tools look up these keys.
   */
  readonly withRequests?: boolean;
  /** Gives records that declare a digest other than SHA-1 the SHA-1 of their payload. */
  readonly computesSha1?: boolean;
};

type ScannedRecord = {
  readonly head: RecordHead;
  readonly http: HttpHead | undefined;
  readonly body: Uint8Array;
  entry: CdxEntry | undefined;
};

/** The entries of a file's records, in the order of the records. */
export async function* indexEntries(
  records: AsyncIterable<ReadingRecord>,
  options: CdxIndexOptions,
): AsyncGenerator<CdxEntry> {
  let held: ScannedRecord | undefined;
  for await (const record of records) {
    const seen = await scanRecord(record, options);
    if (!options.withRequests) {
      if (seen.entry) yield seen.entry;
      continue;
    }
    if (held && joinRequest(held, seen)) {
      for (const { entry } of [held, seen]) if (entry) yield entry;
      held = undefined;
      continue;
    }
    if (held?.entry) yield held.entry;
    held = seen;
  }
  if (held?.entry) yield held.entry;
}

function isIndexed(head: RecordHead): boolean {
  if (head.format === 'arc') return head.type !== 'filedesc';
  if (!INDEXED_TYPES.has(head.type)) return false;
  const isSide = head.type === 'resource' || head.type === 'metadata';
  return !(isSide && head.contentType === 'application/warc-fields');
}

async function scanRecord(record: ReadingRecord, options: CdxIndexOptions): Promise<ScannedRecord> {
  const { head } = record;
  const declared = head.get('warc-payload-digest');
  const isRequest = options.withRequests === true && head.type === 'request';
  const indexed = isIndexed(head);
  const framed: DigestAlgorithm[] = indexed && !declared && head.type !== 'revisit' ? ['sha1'] : [];
  const body: Uint8Array[] = [];
  let bodyBytes = 0;
  const onPayload = (bytes: Uint8Array) => {
    if (bodyBytes < REQUEST_BODY_BYTES_MAX) body.push(Buffer.from(bytes));
    bodyBytes += bytes.length;
  };
  const isOther = options.computesSha1 && declared !== undefined && cdxDigest(declared) === undefined;
  const payload: DigestAlgorithm[] = indexed && isOther && head.type !== 'revisit' ? ['sha1'] : [];
  const scanner = new BlockScanner(head, { framed, payload, ...(isRequest && { onPayload }) });
  for await (const piece of record.body()) scanner.push(piece);
  const facts = scanner.end();
  const computed = facts.framedDigests[0] ?? facts.payloadDigests[0];
  const digest = computed ? formatDigest(computed) : declared;
  const entry = indexed ? entryOf(record, facts.http, digest, options) : undefined;
  return { head, http: facts.http, body: Buffer.concat(body), entry };
}

function entryOf(
  record: ReadingRecord,
  http: HttpHead | undefined,
  digest: string | undefined,
  options: CdxIndexOptions,
): CdxEntry | undefined {
  const { head, tail } = record;
  // Some URIs contain blanks although it is forbidden. Blanks separate the columns of an index, so they are escaped.
  const url = head.targetUri?.replaceAll(' ', '%20');
  const time = head.time;
  if (url === undefined || time === undefined) return undefined;
  const isWhole = tail?.length !== undefined;
  return {
    urlKey: urlKey(url),
    timestamp: formatTimestamp(time),
    url,
    mime: mimeOf(head, http),
    status: http?.startLine === undefined ? undefined : statusText(http),
    digest,
    redirect: undefined,
    robotFlags: undefined,
    // For uncompressed files, the length in an index does not include the line ends after the record.
    length: isWhole ? tail.length! - (record.isCompressed ? 0 : tail.trailerBytes) : undefined,
    offset: head.offset,
    filename: options.filename,
    extra: NO_EXTRA,
  };
}

function statusText(http: HttpHead): string | undefined {
  return http.status === undefined ? undefined : String(http.status);
}

function mimeOf(head: RecordHead, http: HttpHead | undefined): string | undefined {
  if (head.type === 'revisit') return 'warc/revisit';
  const value =
    head.type === 'response' && http
      ? http.get('content-type')
      : head.type === 'response'
        ? head.get('arc-mime')
        : head.contentType;
  return value?.split(/[;\s]/, 1)[0]?.trim() || undefined;
}

/** Adds the request to the key of its response, unless it is a GET. Returns whether the two records belong together. */
function joinRequest(first: ScannedRecord, second: ScannedRecord): boolean {
  const types = `${first.head.type} ${second.head.type}`;
  if (types !== 'response request' && types !== 'request response') return false;
  if (first.head.targetUri !== second.head.targetUri) return false;
  if (second.head.get('warc-concurrent-to') !== first.head.recordId) return false;
  const [request, response] = first.head.type === 'request' ? [first, second] : [second, first];
  const method = request.http?.method?.toUpperCase();
  if (!response.entry || (method !== 'POST' && method !== 'PUT')) return true;
  const contentType = request.http?.get('content-type') ?? '';
  const extra: CdxExtra = [
    ['requestBody', requestBodyQuery(request.body, contentType)],
    ['method', method],
  ];
  const key = requestKey(response.entry.url!, method, request.body, contentType);
  response.entry = { ...response.entry, urlKey: key, extra };
  return true;
}
