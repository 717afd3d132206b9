/**
 * The captures of a collection, read without slim: every capture with its payload, with resolved revisits. Two
 * collections with the same captures are equal for a reader, however the captures are stored.
 */
import { digestOf, toHex } from '../../src/base/index.ts';
import { BlockScanner, readRecords } from '../../src/warc/index.ts';

export type ArchivedRecord = {
  readonly file: string;
  readonly offset: number;
  readonly type: string;
  readonly uri: string;
  readonly date: string;
  readonly recordId: string;
  readonly refersTo: string;
  readonly refersToUri: string;
  readonly refersToDate: string;
  readonly profile: string;
  /** SHA-256 and size of the payload; undefined for a revisit. */
  readonly payload: string | undefined;
  readonly httpHead: string;
  readonly isChunked: boolean;
  readonly fields: readonly { readonly name: string; readonly value: string }[];
};

export async function readAll(files: readonly string[]): Promise<ArchivedRecord[]> {
  const records: ArchivedRecord[] = [];
  for (const file of files) {
    for await (const record of readRecords(file)) {
      const { head } = record;
      const scanner = new BlockScanner(head, { payload: ['sha256'] });
      for await (const piece of record.body()) scanner.push(piece);
      const facts = scanner.end();
      records.push({
        file,
        offset: head.offset,
        type: head.type,
        uri: head.targetUri ?? '',
        date: head.date ?? '',
        recordId: head.recordId ?? '',
        refersTo: head.get('warc-refers-to') ?? '',
        refersToUri: head.get('warc-refers-to-target-uri') ?? '',
        refersToDate: head.get('warc-refers-to-date') ?? '',
        profile: head.get('warc-profile') ?? '',
        payload: head.type === 'revisit' ? undefined : `${toHex(facts.payloadDigests[0]!.bytes)} ${facts.payloadBytes}`,
        httpHead: facts.http ? toHex(digestOf('sha256', facts.http.bytes).bytes) : '',
        isChunked: facts.isChunked,
        fields: head.fields,
      });
    }
  }
  return records;
}

/** Payload and chunking, since a chunked body cannot replace an unchunked one, nor the reverse. */
export function storedAs({ payload, isChunked }: ArchivedRecord): string {
  return `${payload} ${isChunked}`;
}

/** The original of a revisit: by id, else by URI and date. Never another revisit. */
export function originalOf(revisit: ArchivedRecord, records: readonly ArchivedRecord[]): ArchivedRecord | undefined {
  const holders = records.filter((record) => record.type === 'response' || record.type === 'resource');
  return (
    holders.find((record) => revisit.refersTo !== '' && record.recordId === revisit.refersTo) ??
    holders.find((record) => record.uri === revisit.refersToUri && record.date === revisit.refersToDate)
  );
}

const CAPTURES = new Set(['response', 'revisit', 'resource', 'conversion', 'metadata', 'request', 'warcinfo']);

/**
 * One line per capture: URI, date, HTTP head, and resolved payload, sorted. A payload that is not in the collection is
 * written as `missing`.
 */
export function capturesOf(records: readonly ArchivedRecord[]): string[] {
  const byId = new Map<string, ArchivedRecord>();
  const byPlace = new Map<string, ArchivedRecord>();
  for (const record of records) {
    if (record.type !== 'response' && record.type !== 'resource') continue;
    if (!byId.has(record.recordId)) byId.set(record.recordId, record);
    const place = `${record.uri} ${record.date}`;
    if (!byPlace.has(place)) byPlace.set(place, record);
  }
  return records
    .filter((record) => CAPTURES.has(record.type))
    .map((record) => {
      const isPlain = record.type !== 'revisit';
      const original = isPlain
        ? record
        : ((record.refersTo ? byId.get(record.refersTo) : undefined) ??
          byPlace.get(`${record.refersToUri} ${record.refersToDate}`));
      const kind = record.type === 'revisit' ? 'response' : record.type;
      return `${kind} ${record.uri} ${record.date} ${record.httpHead} ${original?.payload ?? 'missing'}`;
    })
    .sort();
}
