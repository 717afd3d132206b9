/**
 * Recognises the beginning of a record: the version line of a WARC record, or the one-line head of an ARC record.
 *
 * ```
 *   WARC/1.1 CRLF                                                   any case; 0.17 to 1.1 are known
 *   http://host/ 192.0.2.1 20240301100000 text/html 57 LF           ARC v1: URL IP date type length
 *   URL IP date type code checksum location offset file length LF   ARC v2
 * ```
 * URLs in ARC heads can contain unescaped spaces, so ARC lines are parsed from the right. Types contain spaces too,
 * before a charset. Some dates are only days, and some are not dates.
 */
import { fromLatin1, LF } from '../../base/index.ts';

/** Number of bytes that are enough to decide. Fewer are enough when the line ends earlier. */
export const RECORD_START_BYTES = 512;

/** A longer line is not an ARC head. */
export const ARC_LINE_BYTES_MAX = 64 * 1024;

/** Whether `WARC/`, in any case, is at this index. */
function isWarcMagic(bytes: Uint8Array, at: number, end: number): boolean {
  return (
    end - at >= 5 &&
    (bytes[at]! | 0x20) === 0x77 &&
    (bytes[at + 1]! | 0x20) === 0x61 &&
    (bytes[at + 2]! | 0x20) === 0x72 &&
    (bytes[at + 3]! | 0x20) === 0x63 &&
    bytes[at + 4] === 0x2f
  );
}

/** Whether `WARC/` and a version number are at this index, as at the beginning of a record. */
export function isWarcStart(bytes: Uint8Array, at: number, end: number): boolean {
  if (!isWarcMagic(bytes, at, end)) return false;
  let digits = 0;
  for (let i = at + 5; i < Math.min(end, at + 16); i++) {
    const byte = bytes[i]!;
    if (byte >= 0x30 && byte <= 0x39) digits++;
    else if (byte === 0x0d || byte === LF) return digits > 0;
    else if (byte === 0x20 || byte === 0x09) return digits > 0 && isFieldNext(bytes, i, end);
    else if (byte !== 0x2e) return false;
  }
  return digits > 0;
}

/** Whether the rest of the line is blank and the next line begins like a field of a record. */
function isFieldNext(bytes: Uint8Array, at: number, end: number): boolean {
  return /^[ \t]+\r?\n[wc]/i.test(fromLatin1(bytes, at, Math.min(end, at + 16)));
}

/**
 * A version line followed by the name of a field. It marks a record even inside a line, for example after a record that
 * was cut off.
 */
export function isWarcHead(bytes: Uint8Array, at: number, end: number): boolean {
  if (!isWarcStart(bytes, at, end)) return false;
  return /^warc\/[\d.]+[ \t]*\r?\n(warc-|content-)/i.test(fromLatin1(bytes, at, Math.min(end, at + 32)));
}

const ARC_V1 = /^(\S.*) (\S+) (\d{12,18}|(?:19|20)\d{6}) ([^ ]*|[\w.+*-]+[/;].{0,200}) (-?\d+)$/s;
const ARC_V2 = /^(\S.*) (\S+) (\d{1,18}) ([^ ]*|[\w.+*-]+[/;].{0,200}) (\d{1,3}|-) (\S+) (\S+) (\d+) (\S+) (-?\d+)$/s;
/**
 * A line with any date, if its address shows that it is an ARC line. The date may have 10 digits, have letters after
 * the digits, or be a digest.
 */
const ARC_ANY_DATE = /^(\S.*) (\d+(?:\.\d+){3}|None(?= \d{8})) ([^ ]{8,64}) ([^ ]*|[\w.+*-]+[/;].{0,200}) (-?\d+)$/s;
/**
 * A line with a word in place of the length. ARC_FIRST: the first line of a file, in which most parts can be anything.
 */
const ARC_NO_LENGTH = /^(\S.*) (\d+(?:\.\d+){3}) (\d{12,18}) ([^ ]*) ([a-z-]{1,16})$/s;
const ARC_FIRST = /^(filedesc:\S*)(?: (\S+))? (\S+) (\S+) ([a-z-]{1,16}|\d+)$/;
/** A line with address and date exchanged. */
const ARC_SWAPPED = /^(\S.*) (\d{12,18}) (\d+(?:\.\d+){3}) ([^ ]*|[\w.+*-]+[/;].{0,200}) (-?\d+)$/s;

export type ArcLine = {
  readonly url: string;
  readonly address: string;
  readonly timestamp: string;
  readonly mime: string;
  readonly status: string | undefined;
  readonly length: number;
  readonly version: 1 | 2;
};

/** Parses an ARC head line; undefined when the line is not one. */
export function parseArcLine(line: string): ArcLine | undefined {
  const second = ARC_V2.exec(line);
  if (second && isArcUrl(second[1]!)) {
    const [, url, address, timestamp, mime, status, , , , , length] = second;
    return {
      url: url!,
      address: address!,
      timestamp: timestamp!,
      mime: mime!,
      status: status === '-' ? undefined : status,
      length: Number(length),
      version: 2,
    };
  }
  const usual = ARC_V1.exec(line);
  const swapped = usual ? undefined : ARC_SWAPPED.exec(line);
  const first = usual ?? swapped ?? ARC_ANY_DATE.exec(line) ?? ARC_NO_LENGTH.exec(line) ?? ARC_FIRST.exec(line);
  if (!first || !isArcUrl(first[1]!)) return undefined;
  const [, url, address, timestamp, mime, length] = first;
  return {
    url: url!,
    address: (swapped ? timestamp : address) ?? '',
    timestamp: (swapped ? address : timestamp)!,
    mime: mime!,
    status: undefined,
    length: /\d/.test(length!) ? Number(length) : -1,
    version: 1,
  };
}

/** `1`, `1.1` or `2`, from the beginning of the version block. */
export function arcVersionOf(versionBlock: string): string {
  if (versionBlock.startsWith('2')) return '2';
  return versionBlock.startsWith('1 1') ? '1.1' : '1';
}

function isArcUrl(url: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(url);
}

/**
 * Whether a WARC or ARC record begins at this index. When `end` cuts an ARC line short, the part before `end` must
 * match.
 */
export function looksLikeRecord(bytes: Uint8Array, at: number, end: number): boolean {
  if (isWarcStart(bytes, at, end)) return true;
  if (!couldBeArcLine(bytes, at, Math.min(end, at + RECORD_START_BYTES))) return false;
  const line = fromLatin1(bytes, at, Math.min(end, at + RECORD_START_BYTES));
  const lineEnd = line.indexOf('\n');
  if (lineEnd < 0) return line.length >= RECORD_START_BYTES && /^(filedesc|https?|ftp|dns):\S/i.test(line);
  return parseArcLine(line.slice(0, lineEnd).replace(/\r$/, '')) !== undefined;
}

const ARC_BLANKS_MIN = 4;

/**
 * Whether a URL followed by enough blanks begins here. Most lines fail this test, which saves decoding them to text.
 */
function couldBeArcLine(bytes: Uint8Array, at: number, end: number): boolean {
  const first = (bytes[at] ?? 0) | 0x20;
  if (first < 0x61 || first > 0x7a) return false;
  let blanks = 0;
  for (let i = at; i < end; i++) {
    if (bytes[i] === 0x20) blanks++;
    else if (bytes[i] === LF) return blanks >= ARC_BLANKS_MIN;
  }
  return true;
}

/** The number of bytes of line ends at the beginning of bytes[from, to). */
export function lineEnds(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && (bytes[at] === 0x0d || bytes[at] === LF)) at++;
  return at - from;
}
