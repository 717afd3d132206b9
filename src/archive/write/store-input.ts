/** What a store takes, and what its record says of it. */
import { hash } from 'node:crypto';
import { bareMime, type EpochMs, toHex } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import type { StoreMode } from '../../ledger/index.ts';
import type { Field, HttpHead } from '../../warc/index.ts';
import type { ContentKey } from '../content-key.ts';
import type { BlockSource, HeldContent, Spool } from './spool.ts';

/** A body, or a content that the archive has: then a revisit is written, without the bytes. */
export type StoredBody = BlockSource | HeldContent;

export type StoreInput =
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly time: EpochMs;
      /** Status line and fields with the empty line, as received. */
      readonly responseHead: Uint8Array;
      /** The response head, if the caller has parsed it. */
      readonly http?: HttpHead;
      /** The body as received, including the transfer coding. Bytes in memory must not change until they are stored. */
      readonly body: StoredBody;
      /** The whole request message. */
      readonly request?: Uint8Array;
      /**
       * Further fields of the record: WARC-IP-Address, WARC-Protocol... A function is called after the body was read,
       * since only then it is known whether the body is truncated.
       */
      readonly fields?: readonly Field[] | (() => readonly Field[]);
      /** The capture whose content is still right, according to a 304 reply to a conditional request. */
      readonly notModified?: Capture;
    }
  | {
      readonly kind: 'resource';
      readonly url: string;
      readonly time: EpochMs;
      readonly mime: string;
      readonly body: StoredBody;
      readonly fields?: readonly Field[];
    }
  | { readonly kind: 'bytes'; readonly time: EpochMs; readonly mime?: string; readonly body: StoredBody };

export type StoreOptions = {
  readonly collection?: string;
  readonly mode?: StoreMode;
  readonly volume?: string;
  /** Whether the store may wait some milliseconds, to be committed together with other stores. */
  readonly mayWait?: boolean;
  /**
   * The caller's own name of the capture. The id of the record is derived from it, so that a store that is asked again
   * with the same name, collection, URL, time and content is recognised (C5).
   */
  readonly id?: string;
  /**
   * False: the record is a full one even if the archive has the content, because the caller may not learn that it has.
   * Compaction turns it into a revisit.
   */
  readonly isShareable?: boolean;
};

export type Stored = {
  readonly key: ContentKey;
  readonly capture: Capture;
  readonly isNew: boolean;
  /** Nothing was stored: the archive has the capture, or had it and deleted it. Only with an `id`. */
  readonly known?: 'held' | 'deleted';
};

/** What the record of a store is made from. */
type Spooled = { readonly input: StoreInput; readonly spool: Spool };

export const TEXT_LEVEL = 6;
export const PACKED_LEVEL = 0;

/** The id of a record: a UUID of version 8, from the first 16 bytes of SHA-256 over the name of the capture. */
export function recordIdOf(id: string): string {
  const bytes = hash('sha256', `pinakes-capture\n${id}`, 'buffer').subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = toHex(bytes);
  const uuid = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  return `<urn:uuid:${uuid}>`;
}

export function collectionOf({ collection = 'default' }: StoreOptions): string {
  return collection;
}

export function targetUriOf({ input, spool }: Spooled): string {
  return input.kind === 'bytes' ? `urn:sha256:${toHex(spool.facts.payloadDigests[0]!.bytes)}` : input.url;
}

export function contentTypeOf(input: StoreInput): string {
  return input.kind === 'http' ? 'application/http; msgtype=response' : (input.mime ?? 'application/octet-stream');
}

export function givenFields(input: StoreInput): Field[] {
  const given = 'fields' in input ? input.fields : undefined;
  return [...((typeof given === 'function' ? given() : given) ?? [])];
}

export function mimeOf({ input, spool }: Spooled): string {
  if (input.kind === 'http') return bareMime(spool.facts.http?.get('content-type') ?? '');
  return bareMime(input.mime ?? 'application/octet-stream');
}

const PACKED_MIME =
  /^(image\/(?!svg|bmp|x-ms-bmp)|video\/|audio\/(?!midi)|font\/woff|application\/(zip|gzip|x-gzip|x-7z|x-rar|x-bzip|x-xz|zstd|vnd\.openxmlformats|epub|java-archive))/;

/** Compressed contents are not compressed again, since that would take time and save nothing. */
export function levelOf(spooled: Spooled): number {
  const isPacked = (spooled.spool.facts.http?.contentCodings.length ?? 0) > 0 || PACKED_MIME.test(mimeOf(spooled));
  return isPacked ? PACKED_LEVEL : TEXT_LEVEL;
}
