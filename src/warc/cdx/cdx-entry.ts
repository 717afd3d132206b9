/**
 * One line of a capture index, in any format. CDX, CDXJ and ZipNum are all read into and written from this type.
 *
 * An absent field is `undefined`; CDX writes `-` for it, and CDXJ leaves the key out. Texts are kept as written: a
 * digest may have no label, and a status may not be a number. `extra` holds everything beyond the named fields, in its
 * order:
 *
 * - other keys of a CDXJ object: `method`, `requestBody`, `recordDigest`;
 * - other columns of a CDX line: `cdx:e` is the column with the letter e;
 * - for CDX-14, the place of the original of a revisit: `orig.length`, `orig.offset`, `orig.filename`.
 */
import { quoted, type ReportFault } from './cdx-finding.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

export type CdxExtra = readonly (readonly [key: string, value: JsonValue])[];

export type CdxEntry = {
  readonly urlKey: string;
  /** 14 digits, or 17 with milliseconds. */
  readonly timestamp: string;
  readonly url: string | undefined;
  readonly mime: string | undefined;
  readonly status: string | undefined;
  readonly digest: string | undefined;
  readonly redirect: string | undefined;
  readonly robotFlags: string | undefined;
  /** Bytes of the record in the file. In a compressed file, these are compressed bytes. */
  readonly length: number | undefined;
  readonly offset: number | undefined;
  readonly filename: string | undefined;
  readonly extra: CdxExtra;
};

export const NO_EXTRA: CdxExtra = [];

/** The value of a text that is a whole number; undefined for other texts and for numbers too large to be exact. */
export function parseCount(text: string): number | undefined {
  if (text.length === 0 || text.length > 16 || !isDigits(text)) return undefined;
  const count = Number(text);
  return Number.isSafeInteger(count) ? count : undefined;
}

/** Whether the text consists of digits, and has one of the two lengths that timestamps of index lines have. */
export function isIndexTimestamp(text: string): boolean {
  return (text.length === 14 || text.length === 17) && isDigits(text);
}

function isDigits(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** Checks a timestamp leniently: digits of another length are accepted with a warning, anything else is refused. */
export function checkTimestamp(text: string, report: ReportFault): boolean {
  if (isIndexTimestamp(text)) return true;
  const isUsable = text.length >= 4 && text.length <= 17 && isDigits(text);
  report(isUsable ? 'cdx-timestamp-length' : 'cdx-timestamp-invalid', quoted(text));
  return isUsable;
}
