/**
 * The entries that the indexer passes to the writer: a capture, and its content if the index does not have this content
 * yet. They are plain values, so that they can be sent to another thread.
 */
import type { EpochMs } from '../base/index.ts';
import type { Link } from '../page/index.ts';

export type IndexEntry = {
  readonly key: string;
  readonly url: string;
  readonly time: EpochMs;
  readonly hash: number;
  readonly collection: string;
  readonly status: number;
  readonly mime: string;
  /** The sequence number of the segment. */
  readonly segment: number;
  readonly offset: number;
  readonly digest: Uint8Array;
  readonly overflow: number;
  readonly content?: EntryContent;
  /** The target of a redirect. An entry with a redirect has no content. */
  readonly redirect?: Link;
};

export type EntryContent = {
  /** The payload: the transfer coding is removed, content codings are kept. */
  readonly payload: Uint8Array;
  readonly codings: readonly string[];
  readonly contentType: string;
  readonly size: number;
};

/** The fields that identify a capture, independent of the place of its record. */
export type CaptureIdentity = {
  readonly key: string;
  readonly time: EpochMs;
  readonly hash: number;
  readonly collection: string;
};

export function emptyTally() {
  return {
    documents: 0,
    captures: 0,
    /** Captures that are redirects. */
    redirects: 0,
    links: 0,
    /** Payload bytes of contents that were read. */
    bytes: 0,
    textBytes: 0,
    /** Contents that are too large to be read or indexed completely. */
    partlyRead: 0,
    /** Contents that exceeded the limit of memory or time while they were read. They also count as partly read. */
    tooCostly: 0,
    /** Milliseconds spent in statements that fill the full-text tables, and in all work of the writer. */
    wordsMs: 0,
    busyMs: 0,
  };
}

export type IndexTally = ReturnType<typeof emptyTally>;

export function addTally(sum: IndexTally, more: IndexTally): void {
  for (const name of Object.keys(sum) as (keyof IndexTally)[]) sum[name] += more[name];
}
