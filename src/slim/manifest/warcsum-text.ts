/**
 * Manifests as text, in the layout of warcsum and its companion programs (Eldakar and Nagi): fields between single spaces, one
 * line a record.
 *
 * ```
 *   file offset length URI date digest                                                       after warcsum
 *   ... extension                                                                            after warccollres
 *   ... extension copy-number [original-URI original-date]                                   after warcsumproc; the last two from copy 2 on
 * ```
 * Digests are `algorithm:` and hexadecimal. Blanks in file names and URIs are written as %20. The layout knows no
 * payload size and no record id, so whatever is resolved from it is compared byte by byte, and revisits made from it
 * have no WARC-Refers-To. Only records that can be originals or duplicates have a line, and none that others lean on:
 * no line could say so.
 */
import { parseDigest, parseW3cDate, toHex } from '../../base/index.ts';

/**
 * The columns a text line is made of, in the order that `warcsumLine` takes them: of any manifest, and of a resolved
 * one.
 */
export const WARCSUM_COLUMNS: readonly string[] = ['file', 'record_offset', 'record_length', 'uri', 'date', 'digest'];
export const WARCSUM_RESOLVED_COLUMNS: readonly string[] = [
  ...WARCSUM_COLUMNS,
  'extension',
  'copy_number',
  'original_uri',
  'original_date',
];

/** A line of text for a row. An original's line does not name itself. */
export function warcsumLine(row: readonly string[]): string {
  const isDuplicate = Number(row[7] ?? 0) > 1;
  return `${(isDuplicate ? row : row.slice(0, 8)).map(unspaced).join(' ')}\n`;
}

function unspaced(text: string): string {
  return text === '' ? '-' : text.replaceAll(' ', '%20');
}

const DIGITS = /^\d{1,15}$/;
const EXTENSION = /^-?\d{1,9}$/;

/** A line of the layout as the line of a manifest (resolved, when it says so); undefined when it is none. */
export function manifestLineOf(text: string): { readonly line: string; readonly isResolved: boolean } | undefined {
  const fields = text.split(' ');
  const [file, offset, length, uri, date, digestText, extension = '0', copyNumber = '', originalUri, originalDate] =
    fields;
  if (![6, 7, 8, 10].includes(fields.length) || !DIGITS.test(offset!) || !DIGITS.test(length!)) return undefined;
  const digest = parseDigest(digestText!);
  const time = parseW3cDate(date!);
  if (!digest || !EXTENSION.test(extension) || /[\t\r]/.test(text)) return undefined;
  if (copyNumber !== '' && !DIGITS.test(copyNumber)) return undefined;
  // Below zero is one that could not be compared, so nobody knows what it holds.
  const holds = time !== undefined && !extension.startsWith('-');
  const line = [
    file!.replaceAll('%20', ' '),
    offset,
    length,
    'response',
    uri,
    date,
    time ?? '',
    `${digest.algorithm}:${toHex(digest.bytes)}`,
    '',
    holds,
    holds,
    ...Array<string>(10).fill(''),
    extension,
  ];
  if (copyNumber !== '') line.push(copyNumber, '', '', '', originalUri ?? uri, originalDate ?? date, '', '');
  return { line: `${line.join('\t')}\n`, isResolved: copyNumber !== '' };
}
