/**
 * What the clients of a simulated archive know: what they tried, and what they were promised. The judge compares it
 * with what the archive answers, so it is written by the processes of a scenario and read from nowhere else.
 */
import { hash } from 'node:crypto';
import { urlKey } from '../../src/url/index.ts';

/** A capture to store. Two of the same id are the same capture, stored again. */
export type TestCapture = {
  readonly id: string;
  /** The name of a content: equal names are equal payloads. */
  readonly content: string;
  /** Stored in full, even if the archive has the content. */
  readonly isForced?: boolean;
};

/** The URL of a capture. Each capture has its own, by which the judge knows it. */
export function urlOf(id: string): string {
  return `http://example.org/${id}`;
}

export function idOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

export function keyOf(id: string): string {
  return urlKey(urlOf(id));
}

export const CAPTURE_DATE = '2026-01-01T00:00:00Z';

/** Large enough that a revisit is worth it. */
const PAYLOAD_BYTES = 1200;
const payloads = new Map<string, Uint8Array>();
const digests = new Map<string, string>();

export function payloadOf(content: string): Uint8Array {
  let payload = payloads.get(content);
  if (!payload) {
    payload = Buffer.from(`${content} `.repeat(PAYLOAD_BYTES).slice(0, PAYLOAD_BYTES));
    payloads.set(content, payload);
  }
  return payload;
}

/** SHA-256 of the content, in hexadecimal. */
export function digestOfContent(content: string): string {
  let digest = digests.get(content);
  if (digest === undefined) {
    digest = hash('sha256', payloadOf(content));
    digests.set(content, digest);
  }
  return digest;
}

/** What a stream over a snapshot delivered, by capture. */
export type Delivery = {
  readonly name: string;
  /** The captures of the snapshot. */
  readonly wanted: readonly string[];
  readonly delivered: string[];
  isComplete: boolean;
  /** Whether the catalog was lost, or went back, after the snapshot was taken. */
  isOfEarlierLife?: boolean;
};

export class Book {
  /** Content by capture. */
  readonly tried: Map<string, string>;
  readonly acknowledged: Set<string>;
  /** Captures of which somebody began a deletion, acknowledged or not. */
  readonly deletionTried: Set<string>;
  readonly deleted: Set<string>;
  readonly barTried: Set<string>;
  readonly barred: Set<string>;
  /** Captures that were stored in full on purpose. */
  readonly forced: Set<string>;
  /** Captures that a client stored again elsewhere. */
  readonly retried: Set<string>;
  readonly deliveries: Delivery[] = [];
  /** What processes found wrong themselves, such as a reader without an answer. */
  readonly complaints: string[] = [];
  /** What the judge found, and allows. */
  readonly allowed = new Set<string>();

  constructor(copied?: Book) {
    this.tried = new Map(copied?.tried);
    this.acknowledged = new Set(copied?.acknowledged);
    this.deletionTried = new Set(copied?.deletionTried);
    this.deleted = new Set(copied?.deleted);
    this.barTried = new Set(copied?.barTried);
    this.barred = new Set(copied?.barred);
    this.forced = new Set(copied?.forced);
    this.retried = new Set(copied?.retried);
  }

  /** All that is in the book. */
  rows(): unknown[] {
    return Object.values(this);
  }

  try(captures: readonly TestCapture[]): void {
    for (const { id, content, isForced } of captures) {
      if (this.tried.has(id)) this.retried.add(id);
      this.tried.set(id, content);
      if (isForced) this.forced.add(id);
    }
  }

  acknowledge(captures: readonly TestCapture[]): void {
    for (const { id } of captures) this.acknowledged.add(id);
  }

  /** Whether a client was promised anything about the capture: that it is stored, or that it is deleted. */
  isPromised(id: string): boolean {
    const content = this.tried.get(id);
    return this.acknowledged.has(id) || this.deleted.has(id) || (content !== undefined && this.barred.has(content));
  }

  /** Whether an acknowledged capture may be gone. */
  mayBeGone(id: string): boolean {
    const content = this.tried.get(id);
    return this.deletionTried.has(id) || (content !== undefined && this.barTried.has(content));
  }
}
