/**
 * Manifests as text, in the layout of warcsum and its companion programs (Eldakar and Nagi): one line per record, with
 * single spaces between the fields.
 *
 * ```
 *   file offset length URI date digest                       after warcsum
 *   ... extension                                            after warccollres
 *   ... extension copy-number [original-URI original-date]   after warcsumproc; the last two from copy 2 on
 * ```
 * A digest is `algorithm:` and hexadecimal. Blanks in file names and URIs are written as %20. The layout does not have
 * payload sizes and record ids, so contents are compared byte by byte, and revisits made from it have no
 * WARC-Refers-To. Only records that can be originals or duplicates have a line. Records that other records refer to do
 * not have one, because a line cannot say that its record must stay.
 */
import { parseDigest, parseW3cDate, toHex } from '../../base/index.ts';

/**
 * The columns of a text line, in the order of `formatWarcsumLine`: of a plain and of a resolved manifest.
 */
export const WARCSUM_COLUMNS: readonly string[] = ['file', 'record_offset', 'record_length', 'uri', 'date', 'digest'];
export const WARCSUM_RESOLVED_COLUMNS: readonly string[] = [
  ...WARCSUM_COLUMNS,
  'extension',
  'copy_number',
  'original_uri',
  'original_date',
];

/** Formats a row as a line of text. The line of an original does not repeat its own URI and date. */
export function formatWarcsumLine(row: readonly string[]): string {
  const isDuplicate = Number(row[7] ?? 0) > 1;
  return `${(isDuplicate ? row : row.slice(0, 8)).map(unspaced).join(' ')}\n`;
}

function unspaced(text: string): string {
  return text === '' ? '-' : text.replaceAll(' ', '%20');
}

const DIGITS = /^\d{1,15}$/;
const EXTENSION = /^-?\d{1,9}$/;

/** Converts a line of this layout to a manifest line, resolved or plain; undefined when the line is malformed. */
export function parseWarcsumLine(text: string): { readonly line: string; readonly isResolved: boolean } | undefined {
  const fields = text.split(' ');
  const [file, offset, length, uri, date, digestText, extension = '0', copyNumber = '', originalUri, originalDate] =
    fields;
  if (![6, 7, 8, 10].includes(fields.length) || !DIGITS.test(offset!) || !DIGITS.test(length!)) return undefined;
  const digest = parseDigest(digestText!);
  const time = parseW3cDate(date!);
  if (!digest || !EXTENSION.test(extension) || /[\t\r]/.test(text)) return undefined;
  if (copyNumber !== '' && !DIGITS.test(copyNumber)) return undefined;
  // An extension below zero means that the record could not be compared, so its content is unknown.
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
