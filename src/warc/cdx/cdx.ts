/**
 * CDX: one capture per line, columns separated by one delimiter, `-` for absent.
 *
 * A file may begin with a header. Its first byte is the delimiter, and its letters name the columns:
 *
 *     " CDX N b a m s k r M S V g"
 *       N or A key   b time     a URL           m type     s status          k digest
 *       r redirect   M robot flags   S length   V (or v) offset   g file
 *
 * Letters without a field of their own are kept in `extra` as `cdx:<letter>`. Without a header, the number of columns
 * decides the format: 7 (the answer of the Wayback CDX server), 9, 10, 11 or 14. CDX-14 is CDX-11 followed by length,
 * offset and file of the original of a revisit. These have no letters, so CDX-14 has no header line of its own.
 */
import { parseDigest, toBase32 } from '../../base/index.ts';
import { type CdxEntry, checkTimestamp, type JsonValue, NO_EXTRA, parseCount } from './cdx-entry.ts';
import { quoted, type ReportFault } from './cdx-finding.ts';

export type CdxFormat = {
  readonly delimiter: string;
  /** One letter per column. */
  readonly letters: readonly string[];
  /** Whether three columns about the original of a revisit follow the lettered columns. */
  readonly original: boolean;
};

const format = (letters: string, original = false): CdxFormat => ({
  delimiter: ' ',
  letters: letters.split(' '),
  original,
});

export const CDX_7 = format('N b a m s k S');
export const CDX_9 = format('N b a m s k r V g');
export const CDX_10 = format('N b a m s k r M V g');
export const CDX_11 = format('N b a m s k r M S V g');
export const CDX_14 = format('N b a m s k r M S V g', true);

const FORMATS_BY_COLUMNS = new Map([
  [7, CDX_7],
  [9, CDX_9],
  [10, CDX_10],
  [11, CDX_11],
  [14, CDX_14],
]);

const ORIGINAL_KEYS = ['orig.length', 'orig.offset', 'orig.filename'] as const;

const HEADER = /^(.?)CDX(.)([A-Za-z#](?:\2[A-Za-z#])*)\s*$/su;

/**
 * The format that a header line declares; undefined when the line is not a header. Some headers have no leading
 * delimiter.
 */
export function parseCdxHeader(line: string): CdxFormat | undefined {
  if (!line.startsWith('CDX', 1) && !line.startsWith('CDX')) return undefined;
  const match = HEADER.exec(line);
  if (!match) return undefined;
  const delimiter = match[1] || match[2]!;
  return delimiter === match[2] ? { delimiter, letters: match[3]!.split(delimiter), original: false } : undefined;
}

/** The header line of a format; undefined for CDX-14, which has none. */
export function formatCdxHeader(format: CdxFormat): string | undefined {
  return format.original ? undefined : [`${format.delimiter}CDX`, ...format.letters].join(format.delimiter);
}

/** The format of a line in a file without header. */
export function cdxFormatOf(line: string): CdxFormat | undefined {
  return FORMATS_BY_COLUMNS.get(line.split(' ').length);
}

type Columns = {
  readonly urlKey: number;
  readonly timestamp: number;
  readonly url: number;
  readonly mime: number;
  readonly status: number;
  readonly digest: number;
  readonly redirect: number;
  readonly robotFlags: number;
  readonly length: number;
  readonly offset: number;
  readonly filename: number;
  readonly others: readonly (readonly [column: number, key: string])[];
};

function columnsOf({ letters }: CdxFormat): Columns {
  const taken = new Set<number>();
  const column = (...candidates: string[]) => {
    const letter = candidates.find((candidate) => letters.includes(candidate));
    const at = letter === undefined ? -1 : letters.indexOf(letter);
    if (at >= 0) taken.add(at);
    return at;
  };
  const named = {
    urlKey: column('N', 'A'),
    timestamp: column('b'),
    url: column('a'),
    mime: column('m'),
    status: column('s'),
    digest: column('k'),
    redirect: column('r'),
    robotFlags: column('M'),
    length: column('S'),
    offset: column('V', 'v'),
    filename: column('g'),
  };
  const others = letters.flatMap((letter, at) => (taken.has(at) ? [] : [[at, `cdx:${letter}`] as const]));
  return { ...named, others };
}

/** Parses a line of one format; undefined when the line cannot be used and was reported. */
export type CdxLineParser = (line: string, report: ReportFault) => CdxEntry | undefined;

export function cdxLineParser(format: CdxFormat): CdxLineParser {
  const columns = columnsOf(format);
  const { delimiter } = format;
  const lettered = format.letters.length;
  const declared = lettered + (format.original ? ORIGINAL_KEYS.length : 0);
  const hasTail = format.original || format.letters.join('') === CDX_11.letters.join('');

  return (line, report) => {
    let fields = line.split(delimiter);
    if (fields.length !== declared && !(hasTail && fields.length === lettered + ORIGINAL_KEYS.length)) {
      const repaired = fields.length > declared ? joinSurplus(fields, declared, columns, delimiter, report) : undefined;
      if (!repaired) {
        report('cdx-columns', `${fields.length} instead of ${declared}`);
        return undefined;
      }
      fields = repaired;
    }
    const urlKey = fields[columns.urlKey] ?? '';
    const timestamp = fields[columns.timestamp] ?? '';
    if (!checkTimestamp(timestamp, report)) return undefined;
    const extra: [string, JsonValue][] = [];
    for (const [at, key] of columns.others) {
      const value = present(fields[at]);
      if (value !== undefined) extra.push([key, value]);
    }
    for (let i = lettered; i < fields.length; i++) {
      const value = present(fields[i]);
      if (value !== undefined) extra.push([ORIGINAL_KEYS[i - lettered]!, value]);
    }
    return {
      urlKey,
      timestamp,
      url: present(fields[columns.url]),
      mime: present(fields[columns.mime]),
      status: present(fields[columns.status]),
      digest: present(fields[columns.digest]),
      redirect: present(fields[columns.redirect]),
      robotFlags: present(fields[columns.robotFlags]),
      length: count(fields[columns.length], 'length', report),
      offset: count(fields[columns.offset], 'offset', report),
      filename: present(fields[columns.filename]),
      extra: extra.length === 0 ? NO_EXTRA : extra,
    };
  };
}

const present = (field: string | undefined): string | undefined => (field === '-' || field === '' ? undefined : field);

function count(field: string | undefined, name: string, report: ReportFault): number | undefined {
  if (field === undefined || field === '-' || field === '') return undefined;
  const value = parseCount(field);
  if (value === undefined) report('cdx-number-invalid', `${quoted(field)} is not a valid ${name}`);
  return value;
}

/**
 * Some tools write `text/html; charset=UTF-8`, or a URL with unescaped blanks, so that a line has too many columns. The
 * columns to the left and right of the faulty value are still right. The surplus columns are joined to the media type
 * if it ends in a semicolon, otherwise to the URL.
 */
function joinSurplus(
  fields: string[],
  declared: number,
  columns: Columns,
  delimiter: string,
  report: ReportFault,
): string[] | undefined {
  const surplus = fields.length - declared;
  const inMime = columns.mime >= 0 && fields[columns.mime]?.endsWith(';') === true;
  const at = inMime ? columns.mime : columns.url;
  if (at < 0) return undefined;
  const joined = fields.slice(at, at + surplus + 1).join(delimiter);
  const repaired = [...fields.slice(0, at), joined, ...fields.slice(at + surplus + 1)];
  const isPlausible = [columns.length, columns.offset].every((column) => {
    const field = column < 0 ? undefined : present(repaired[column]);
    return field === undefined || parseCount(field) !== undefined;
  });
  if (!isPlausible) return undefined;
  report('cdx-columns-surplus', `${surplus} were read as part of the ${inMime ? 'media type' : 'URL'}`);
  return repaired;
}

export type CdxLineOptions = {
  /**
   * Writes SHA-1 digests in base32 without a label, and `-` for other digests: readers of CDX take any digest for a
   * SHA-1. OutbackCDX, for example, decodes a hexadecimal SHA-256 as base32 without an error, and gets a wrong digest.
   */
  readonly onlySha1?: boolean;
};

/** A SHA-1 as CDX files write it; undefined for any other digest. */
export function cdxDigest(text: string | undefined): string | undefined {
  const digest = parseDigest(text ?? '');
  return digest?.algorithm === 'sha1' ? toBase32(digest.bytes) : undefined;
}

/** Writes lines of one format, without line end. A delimiter or blank inside a field is percent-encoded. */
export function cdxLineFormatter(format: CdxFormat, options: CdxLineOptions = {}): (entry: CdxEntry) => string {
  const { delimiter } = format;
  const unsafe = new RegExp(`[\\s${delimiter.replace(/[\\\]^-]/g, '\\$&')}]`, 'u');
  const everyUnsafe = new RegExp(unsafe, 'gu');
  const escaped = (text: string) => (unsafe.test(text) ? text.replace(everyUnsafe, percentEncoded) : text);
  const columns = columnsOf(format);
  const getters = format.letters.map((letter, at) => getterOf(letter, at, columns, options));
  if (format.original) for (const key of ORIGINAL_KEYS) getters.push((entry) => extraOf(entry, key));

  return (entry) => {
    let line = '';
    for (let i = 0; i < getters.length; i++) {
      const value = getters[i]!(entry);
      if (i > 0) line += delimiter;
      line += value === undefined || value === '' ? '-' : typeof value === 'number' ? value : escaped(value);
    }
    return line;
  };
}

function percentEncoded(text: string): string {
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) encoded += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}

type Getter = (entry: CdxEntry) => string | number | undefined;

function getterOf(letter: string, at: number, columns: Columns, options: CdxLineOptions): Getter {
  switch (at) {
    case columns.urlKey:
      return (entry) => entry.urlKey;
    case columns.timestamp:
      return (entry) => entry.timestamp;
    case columns.url:
      return (entry) => entry.url;
    case columns.mime:
      return (entry) => entry.mime;
    case columns.status:
      return (entry) => entry.status;
    case columns.digest:
      return options.onlySha1 ? (entry) => cdxDigest(entry.digest) : (entry) => entry.digest;
    case columns.redirect:
      return (entry) => entry.redirect;
    case columns.robotFlags:
      return (entry) => entry.robotFlags;
    case columns.length:
      return (entry) => entry.length;
    case columns.offset:
      return (entry) => entry.offset;
    case columns.filename:
      return (entry) => entry.filename;
    default:
      return (entry) => extraOf(entry, `cdx:${letter}`);
  }
}

function extraOf(entry: CdxEntry, key: string): string | undefined {
  const found = entry.extra.find(([name]) => name === key)?.[1];
  return found === undefined || found === null ? undefined : typeof found === 'string' ? found : JSON.stringify(found);
}
