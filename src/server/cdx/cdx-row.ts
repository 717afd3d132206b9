/**
 * One line of a CDX reply, and its fields under the names of all dialects. An absent value is `-`, as in CDX files.
 *
 * Digests are SHA-256 of the payload in hexadecimal, as in the archive. The dialect determines whether digests have a
 * label. File names are the names of segments, which are unique in an archive.
 */
import { basename } from 'node:path';
import { type Archive, type RecordLocation, releasePayload } from '../../archive/index.ts';
import { bareMime, formatTimestamp, toHex } from '../../base/index.ts';
import type { Block, Capture, Place } from '../../catalog/index.ts';

export type CdxRow = {
  readonly capture: Capture;
  readonly urlkey: string;
  readonly timestamp: string;
  readonly original: string;
  readonly mimetype: string;
  readonly statuscode: string;
  readonly digest: string;
  readonly length: string;
  readonly offset: string;
  readonly filename: string;
  readonly collection: string;
  /** The record with the content of a revisit; `-` for other captures, and when the client did not request it. */
  readonly originalLength: string;
  readonly originalOffset: string;
  readonly originalFilename: string;
  /** Counters, when requested. */
  readonly dupecount?: string;
  readonly skipcount?: string;
  readonly endtimestamp?: string;
};

const ABSENT = '-';
const HEADS_MAX = 1000;

/** Status and media type of an HTTP response. */
type ResponseFacts = Pick<Capture, 'status' | 'mime'>;

/** The record with the content of a revisit, and status and type of the revisit. */
type Original = ResponseFacts & { readonly location: RecordLocation | undefined };

export class CdxRows {
  readonly #archive: Archive;
  readonly #label: string;
  readonly #resolves: boolean;
  readonly #heads = new Map<string, ResponseFacts>();

  constructor(archive: Archive, options: { readonly isDigestLabelled: boolean; readonly resolvesRevisits: boolean }) {
    this.#archive = archive;
    this.#label = options.isDigestLabelled ? 'sha256:' : '';
    this.#resolves = options.resolvesRevisits;
  }

  async of(captures: readonly Capture[]): Promise<CdxRow[]> {
    const locations = await this.#archive.records.locate(captures.map(({ place }) => place));
    if (!this.#resolves) return this.#rows(captures, locations, new Map());
    const revisits = captures.filter((capture) => capture.kind === 'revisit' && capture.block);
    const blocks = revisits.length > 0 ? await this.#archive.getBlocks(revisits.map(({ block }) => block!)) : [];
    const originalOf = new Map<Capture, Original>();
    for (const [index, capture] of revisits.entries()) {
      const block = blocks[index];
      if (!block) continue;
      const [location] = await this.#archive.records.locate([block.holder]);
      const { status, mime } = await this.#responseFacts(capture, block);
      originalOf.set(capture, { location, status, mime });
    }
    return this.#rows(captures, locations, originalOf);
  }

  async #rows(
    captures: readonly Capture[],
    locations: readonly (RecordLocation | undefined)[],
    originalOf: ReadonlyMap<Capture, Original>,
  ): Promise<CdxRow[]> {
    const rows: CdxRow[] = [];
    for (const [index, capture] of captures.entries()) {
      const collection = await this.#archive.collections.name(capture.collection);
      rows.push(this.#row(capture, collection, locations[index], originalOf.get(capture)));
    }
    return rows;
  }

  /**
   * Status and type come from the HTTP head of the capture itself. When the head lacks them, or has the status "not
   * modified", they come from the record with the content.
   */
  async #responseFacts(capture: Capture, { holder }: Block): Promise<ResponseFacts> {
    const hasStatus = capture.status !== 0 && capture.status !== 304;
    if (hasStatus && capture.mime !== '') return capture;
    const { status, mime } = await this.#factsAt(holder);
    return { status: hasStatus ? capture.status : status, mime };
  }

  async #factsAt(holder: Place): Promise<ResponseFacts> {
    const key = `${holder.segment}:${holder.offset}`;
    const known = this.#heads.get(key);
    if (known) return known;
    const { head, http, payload } = await this.#archive.records.open(holder);
    await releasePayload(payload);
    const mime = bareMime((http ? http.get('content-type') : (head.get('arc-mime') ?? head.contentType)) ?? '');
    const facts = { status: http?.status ?? 0, mime };
    if (this.#heads.size < HEADS_MAX) this.#heads.set(key, facts);
    return facts;
  }

  #row(
    capture: Capture,
    collection: string,
    location: RecordLocation | undefined,
    original: Original | undefined,
  ): CdxRow {
    const { place, block } = capture;
    const { status, mime } = original ?? capture;
    const isRevisit = capture.kind === 'revisit' && !original;
    return {
      capture,
      urlkey: capture.urlKey,
      timestamp: formatTimestamp(capture.time),
      original: /\s/.test(capture.url) ? capture.url.replace(/\s/g, encodeURIComponent) : capture.url,
      mimetype: isRevisit ? 'warc/revisit' : mime || ABSENT,
      statuscode: status === 0 ? ABSENT : String(status),
      digest: block ? this.#label + toHex(block.digest) : ABSENT,
      length: String(place.length),
      offset: String(place.offset),
      filename: fileName(location),
      collection,
      originalLength: original?.location ? String(original.location.length) : ABSENT,
      originalOffset: original?.location ? String(original.location.offset) : ABSENT,
      originalFilename: fileName(original?.location),
    };
  }
}

function fileName(location: RecordLocation | undefined): string {
  return location ? basename(location.segment) : ABSENT;
}

export type FieldValue = (row: CdxRow) => string;

const absent: FieldValue = () => ABSENT;

const FIELDS = new Map<string, FieldValue>([
  ['urlkey', (row) => row.urlkey],
  ['timestamp', (row) => row.timestamp],
  ['original', (row) => row.original],
  ['mimetype', (row) => row.mimetype],
  ['statuscode', (row) => row.statuscode],
  ['digest', (row) => row.digest],
  ['redirect', absent],
  ['robotflags', absent],
  ['length', (row) => row.length],
  ['offset', (row) => row.offset],
  ['filename', (row) => row.filename],
  ['collection', (row) => row.collection],
  ['orig.length', (row) => row.originalLength],
  ['orig.offset', (row) => row.originalOffset],
  ['orig.filename', (row) => row.originalFilename],
  ['dupecount', (row) => row.dupecount ?? ABSENT],
  ['skipcount', (row) => row.skipcount ?? ABSENT],
  ['endtimestamp', (row) => row.endtimestamp ?? ABSENT],
  ['range', (row) => `bytes=${row.offset}-${Number(row.offset) + Number(row.length) - 1}`],
]);

const OTHER_NAMES: Readonly<Record<string, string>> = {
  url: 'original',
  mime: 'mimetype',
  status: 'statuscode',
  redirecturl: 'redirect',
  file: 'filename',
  originalLength: 'orig.length',
  originalOffset: 'orig.offset',
  originalFilename: 'orig.filename',
};

export const FIELD_NAMES: readonly string[] = [...FIELDS.keys()];

/** Returns the getter of a field, by any of its names; undefined for an unknown field. */
export function fieldValue(name: string): FieldValue | undefined {
  return FIELDS.get(Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name]! : name);
}
