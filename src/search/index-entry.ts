/**
 * What the indexer hands to the writer: a capture, and its content when that is not in the index yet. Plain values, so
 * that they can go to another thread.
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
  readonly segment: number;
  readonly offset: number;
  readonly digest: Uint8Array;
  readonly overflow: number;
  readonly content?: EntryContent;
  /** Where the capture leads; then the entry is about that, and not about its content. */
  readonly redirect?: Link;
};

export type EntryContent = {
  /** The payload, transfer coding removed, content codings kept. */
  readonly payload: Uint8Array;
  readonly codings: readonly string[];
  readonly contentType: string;
  readonly size: number;
};

/** What identifies a capture, wherever its record lies. */
export type CaptureName = {
  readonly key: string;
  readonly time: EpochMs;
  readonly hash: number;
  readonly collection: string;
};

export type IndexTally = {
  documents: number;
  captures: number;
  /** Captures that lead elsewhere. */
  redirects: number;
  links: number;
  /** Payload bytes of contents that were read. */
  bytes: number;
  textBytes: number;
  /** Contents that go beyond what is read, or taken into the index, of one. */
  partlyRead: number;
  /** Contents that took more memory or time to read than they may. They are among those that were partly read. */
  tooCostly: number;
  /** Milliseconds in the statements that fill the full-text tables, and in everything the writer does. */
  wordsMs: number;
  busyMs: number;
};

export function emptyTally(): IndexTally {
  return {
    documents: 0,
    captures: 0,
    redirects: 0,
    links: 0,
    bytes: 0,
    textBytes: 0,
    partlyRead: 0,
    tooCostly: 0,
    wordsMs: 0,
    busyMs: 0,
  };
}

export function addTally(sum: IndexTally, more: IndexTally): void {
  for (const name of Object.keys(sum) as (keyof IndexTally)[]) sum[name] += more[name];
}
