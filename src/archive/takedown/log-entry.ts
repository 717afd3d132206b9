/**
 * One entry of the log of takedowns. It is an object of two lines in every writable volume:
 *
 * ```
 *   _pinakes/takedowns/<number, 9 digits>-<SHA-256 of the first line, in hexadecimal>
 *
 *   {"takedownLog":1,"number":n,"previous":"<SHA-256 of the first line of the entry before>"|null,...}
 *   {"key":"<fingerprint>","signature":"<base64 of the Ed25519 signature of the first line>"}
 * ```
 * The digest in the name ties the entry to its bytes, `previous` ties it to all entries before it, and the signature to
 * the archive. So a change or a removal in the middle shows. Entries never have bytes of a content.
 */
import type { KeyObject } from 'node:crypto';
import { digestOf, fromUtf8, toHex, utf8 } from '../../base/index.ts';
import { isSignedBy, type SigningKey } from './signing-key.ts';

export const LOG_FOLDER = '_pinakes/takedowns/';
/** A larger object is not an entry. */
export const ENTRY_BYTES_MAX = 8 * 1024 * 1024;
const VERSION = 1;

/** A capture that a takedown deletes. */
export type TakenCapture = {
  readonly url: string;
  /** As W3C date. */
  readonly time: string;
  readonly collection: string;
  /** The segment that had its record. */
  readonly segment: string;
  /** `sha256:<hex>`; absent for a revisit whose content is not known. */
  readonly content?: string | undefined;
};

/** What was taken down, written before anything is deleted. */
export type TakedownFacts = {
  readonly kind: 'takedown';
  /** The id by which the records of the deletion name it. */
  readonly request: string;
  readonly reason: string;
  /** What is barred: `sha256:<hex>`, and keys of URLs. */
  readonly contents: readonly string[];
  readonly urls: readonly string[];
  /** How many captures were found, and the first of them. */
  readonly captures: number;
  readonly listed: readonly TakenCapture[];
  readonly collections: readonly string[];
  /** Segments that had the records of the captures, or hold their contents. */
  readonly segments: readonly string[];
  /** Contents of these captures that are not barred and that other captures keep: how many captures. */
  readonly kept: readonly { readonly content: string; readonly captures: number }[];
};

/** The takedown came to its end. */
export type TakedownEnd = {
  readonly kind: 'carried out';
  /** The number of its entry. */
  readonly takedown: number;
  readonly captures: number;
  /** Segments that may have the bytes and still grow. */
  readonly unsealed: readonly string[];
};

/** Where bytes of what is barred were searched, and what was found. */
export type SearchStatement = {
  readonly kind: 'search';
  /** The numbers of the takedowns. Empty: everything that is barred. */
  readonly takedowns: readonly number[];
  readonly contents: number;
  readonly urls: number;
  readonly begun: string;
  readonly places: readonly SearchedPlace[];
  readonly found: number;
  readonly findings: readonly FoundBytes[];
  /** What could not be searched, and why. */
  readonly unsearched: readonly { readonly what: string; readonly why: string }[];
  /** Whether everything was searched and nothing was found. */
  readonly isGone: boolean;
};

export type SearchedPlace = {
  readonly place: string;
  readonly files: number;
  readonly bytes: number;
  readonly records: number;
};

export type FoundBytes = {
  readonly place: string;
  readonly file: string;
  readonly offset: number;
  /** What it has: the bytes of a content, a record that says so of itself, a record of a URL, a whole file. */
  readonly why: 'content' | 'declared content' | 'url' | 'file';
  /** The content or URL. */
  readonly what: string;
};

export type EntryFacts = TakedownFacts | TakedownEnd | SearchStatement;

export type EntryHead = {
  readonly number: number;
  readonly previous: string | undefined;
  readonly archive: string;
  /** As W3C date. */
  readonly time: string;
  readonly by: string;
};

export type LogEntry = EntryHead & { readonly facts: EntryFacts };

export type SealedEntry = { readonly name: string; readonly bytes: Uint8Array; readonly digest: string };

export function sealEntry({ facts, previous, ...head }: LogEntry, key: SigningKey): SealedEntry {
  const line = JSON.stringify({ takedownLog: VERSION, ...head, previous: previous ?? null, ...facts });
  const signature = Buffer.from(key.sign(utf8(line))).toString('base64');
  const digest = digestOfLine(line);
  const bytes = utf8(`${line}\n${JSON.stringify({ key: key.fingerprint, signature })}\n`);
  return { name: `${LOG_FOLDER}${String(head.number).padStart(9, '0')}-${digest}`, bytes, digest };
}

export type ParsedEntryName = { readonly number: number; readonly digest: string };

export function parseEntryName(name: string): ParsedEntryName | undefined {
  const match = /^_pinakes\/takedowns\/(\d{9})-([0-9a-f]{64})$/.exec(name);
  return match ? { number: Number(match[1]), digest: match[2]! } : undefined;
}

/** An entry as it was read. `problem`: why it is not what the archive wrote. */
export type ReadEntry = {
  readonly name: string;
  readonly digest: string;
  /** Fingerprint of the key that signed it. */
  readonly key: string | undefined;
  readonly entry: LogEntry | undefined;
  readonly problem: string | undefined;
};

export function readEntry(
  name: string,
  bytes: Uint8Array,
  keyOf: (fingerprint: string) => KeyObject | undefined,
): ReadEntry | undefined {
  const parsed = parseEntryName(name);
  if (!parsed) return undefined;
  const [line = '', seal = '', ...rest] = fromUtf8(bytes).split('\n');
  const signed = objectOf(seal);
  const key = typeof signed?.key === 'string' ? signed.key : undefined;
  const read = (problem: string | undefined, entry?: LogEntry): ReadEntry => ({ name, ...parsed, key, entry, problem });
  if (digestOfLine(line) !== parsed.digest) return read('its bytes were changed');
  if (rest.join('') !== '' || typeof signed?.signature !== 'string' || key === undefined)
    return read('its signature cannot be read', parseLine(line));
  const publicKey = keyOf(key);
  if (!publicKey) return read(`its key ${key.slice(0, 16)} is missing`, parseLine(line));
  if (!isSignedBy(publicKey, utf8(line), Buffer.from(signed.signature, 'base64')))
    return read('its signature is wrong', parseLine(line));
  const entry = parseLine(line);
  if (entry?.number !== parsed.number) return read('it cannot be read', entry);
  return read(undefined, entry);
}

const KINDS: ReadonlySet<unknown> = new Set(['takedown', 'carried out', 'search']);

/** This program wrote the fields, as the signature shows, so only what a later version may change is checked. */
function parseLine(line: string): LogEntry | undefined {
  const value = objectOf(line);
  if (value?.takedownLog !== VERSION || !KINDS.has(value.kind)) return undefined;
  const { takedownLog: _, number, previous, archive, time, by, ...facts } = value;
  if (typeof number !== 'number' || typeof archive !== 'string' || typeof time !== 'string' || typeof by !== 'string')
    return undefined;
  if (previous !== null && typeof previous !== 'string') return undefined;
  return { number, previous: previous ?? undefined, archive, time, by, facts: facts as EntryFacts };
}

function digestOfLine(line: string): string {
  return toHex(digestOf('sha256', utf8(line)).bytes);
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
