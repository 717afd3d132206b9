/**
 * The head of a record, WARC or ARC, as written and as understood.
 *
 * ```
 *   WARC/1.1 CRLF  name ":" value CRLF ...  CRLF          ISO 28500; LF alone and folded lines are accepted
 * ```
 * An ARC head is one line. Its parts are given as the WARC fields with the same meaning, so that readers of records
 * need to know only one form. `fields` keeps the order and the spelling of the file. Values are UTF-8 by the standard,
 * and often something else in real files. A value that is not UTF-8 is read as Latin-1, which keeps all its bytes
 * distinct.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import {
  type EpochMs,
  formatW3cDate,
  fromLatin1,
  fromUtf8,
  isStandardDate,
  LF,
  parseRecordDate,
  parseTimestamp,
  standardDate,
} from '../../base/index.ts';
import type { FindingCode } from './finding-catalogue.ts';
import type { ArcLine } from './record-start.ts';

export type Field = { readonly name: string; readonly value: string };

/**
 * Whether the field has this name, which is given in lower case. Called about thirty times for each record, so it
 * creates no strings.
 */
export function isNamed(field: Field, lowerName: string): boolean {
  const { name } = field;
  if (name.length !== lowerName.length) return false;
  for (let i = 0; i < name.length; i++) {
    const code = name.charCodeAt(i);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== lowerName.charCodeAt(i)) return false;
  }
  return true;
}

export type RecordFormat = 'warc' | 'arc';

/** Holds the date as the source wrote it, in a record that was written anew with a standard date or without a date. */
export const SOURCE_DATE_FIELD = 'pinakes-source-date';

/**
 * How well a head follows the standard. A `loose` head keeps its meaning when it is written anew: its line ends are
 * wrong, or it has surplus blanks. An `odd` head lacks something that every record must have, or has it in a form that
 * stops other readers.
 */
export type HeadForm = 'sound' | 'loose' | 'odd';

export class RecordHead {
  readonly format: RecordFormat;
  /** `1.1`, `1.0`, `0.17`... of a WARC record; `1`, `1.1` or `2` of an ARC record. */
  readonly version: string;
  readonly fields: readonly Field[];
  /**
   * In lower case: `response`, `revisit`..., `filedesc` for an ARC file's first record. Without a WARC-Type it is
   * derived from the other fields, and empty when these fields do not show it.
   */
  readonly type: string;
  /** Bytes of the block as declared; undefined when the head does not declare them. */
  readonly contentLength: number | undefined;
  form: HeadForm = 'sound';
  /** Offset in the file of the record, or of the compressed member that holds it. */
  offset = 0;
  /** Number of decoded bytes before the record in its member. Usually 0, because most members hold one record. */
  innerOffset = 0;
  /** The head's decoded bytes, as the file has them. */
  readonly bytes: Uint8Array;
  /** False when a WARC head has bytes that are not UTF-8. Writing it anew changes the bytes of its values. */
  isUtf8 = true;

  constructor(format: RecordFormat, version: string, fields: readonly Field[], bytes: Uint8Array) {
    this.format = format;
    this.version = version;
    this.fields = fields;
    this.bytes = bytes;
    this.type = (this.get('warc-type') ?? this.#impliedType).toLowerCase();
    this.contentLength = parseLength(this.get('content-length'));
  }

  /** Value of the first field with this name; the name is in lower case. */
  get(name: string): string | undefined {
    for (const field of this.fields) if (isNamed(field, name)) return field.value;
    return undefined;
  }

  getAll(name: string): string[] {
    return this.fields.filter((field) => isNamed(field, name)).map((field) => field.value);
  }

  /** WARC-Target-URI without the angle brackets that some writers add. Control characters in it are escaped. */
  get targetUri(): string | undefined {
    const value = this.get('warc-target-uri');
    return value === undefined ? undefined : escapeControls(unbracketed(value));
  }

  /**
   * WARC-Record-ID as written, with brackets. Control characters in it are escaped, since other records refer to it.
   */
  get recordId(): string | undefined {
    const value = this.get('warc-record-id');
    return value === undefined ? undefined : escapeControls(value);
  }

  /** WARC-Date as written. The date of an ARC record is in the WARC form, and missing when it is not a time. */
  get date(): string | undefined {
    return this.get('warc-date');
  }

  get time(): EpochMs | undefined {
    const date = this.date;
    return date === undefined ? undefined : parseRecordDate(date);
  }

  /** The date in a form that the standard allows: as written if possible, otherwise converted. */
  get standardDate(): string | undefined {
    return this.date === undefined ? undefined : standardDate(this.date);
  }

  get contentType(): string | undefined {
    return this.get('content-type');
  }

  get #impliedType(): string {
    if (this.get('warc-target-uri') === undefined) return '';
    const type = this.contentType ?? '';
    const message = /^application\/http\b.*\bmsgtype=(request|response)/i.exec(type);
    if (message) return message[1]!;
    return /^application\/warc-fields/i.test(type) ? 'metadata' : 'resource';
  }
}

const CONTROL = /[\x00-\x1f\x7f]/;
const CONTROLS = new RegExp(CONTROL, 'g');

function escapeControls(uri: string): string {
  // Almost no URI has control characters, and this runs for every record.
  if (!CONTROL.test(uri)) return uri;
  return uri.replace(CONTROLS, (control) => {
    return `%${control.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

export function unbracketed(value: string): string {
  return value.startsWith('<') && value.endsWith('>') ? value.slice(1, -1) : value;
}

const LENGTH = /^\d{1,16}$/;
/** A length that is one number in an odd form: with a sign, in quotation marks, with leading zeros, or repeated. */
const ODD_LENGTH = /^\+?("?)0*(\d{1,16})\1( *, *\2)*$/;

function parseLength(value: string | undefined): number | undefined {
  const length = value !== undefined && (LENGTH.test(value) ? value : ODD_LENGTH.exec(value)?.[2]);
  return length && Number.isSafeInteger(Number(length)) ? Number(length) : undefined;
}

/** Index past the empty line that ends the head at `from`; -1 when this line is not in [from, end). */
export function headEnd(bytes: Buffer, from: number, end: number): number {
  let line = from;
  for (;;) {
    const lf = bytes.indexOf(LF, line);
    if (lf < 0 || lf >= end) return -1;
    if (lf === line || (lf === line + 1 && bytes[line] === 0x0d)) return lf + 1;
    line = lf + 1;
  }
}

/**
 * SOUND matches a head that follows the standard. LOOSE matches a head with the same meaning but wrong line ends or
 * blanks. Neither matches control characters, which stop other readers.
 */
const SOUND =
  /^WARC\/\d\.\d+\r\n(?:[\w!#$%&'*+.^`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n(?:[ \t][^\x00-\x08\x0a-\x1f\x7f]*\r\n)*)+\r\n$/;
const LOOSE =
  /^warc\/[\d.]+[ \t]*\r?\n(?:[\w!#$%&'*+.^`|~-]+[ \t]*:[^\x00-\x08\x0a-\x1f\x7f]*\r?\n(?:[ \t][^\x00-\x08\x0a-\x1f\x7f]*\r?\n)*)+\r?\n$/i;

/** The faults that make a head odd, besides lines that are not fields. */
const ODD_FAULTS: ReadonlySet<FindingCode> = new Set([
  'date-invalid',
  'date-nonstandard',
  'field-duplicate',
  'version-unknown',
]);
const NEEDS_TARGET = new Set(['response', 'resource', 'request', 'revisit', 'conversion', 'continuation']);

function formOf(head: RecordHead, text: string, faults: readonly HeadFault[]): HeadForm {
  const target = head.get('warc-target-uri');
  const lacks = !head.get('warc-type') || !head.date || (!target && NEEDS_TARGET.has(head.type));
  if (lacks || target?.includes('\t')) return 'odd';
  if (faults.length > 0 && faults.some(({ code }) => ODD_FAULTS.has(code))) return 'odd';
  if (SOUND.test(text) && LENGTH.test(head.get('content-length') ?? '')) return 'sound';
  return LOOSE.test(text) ? 'loose' : 'odd';
}

const SINGLE_FIELDS = ['warc-type', 'warc-record-id', 'warc-date', 'content-length', 'warc-target-uri'];
export const KNOWN_VERSIONS: ReadonlySet<string> = new Set(['1.1', '1.0', '0.17', '0.18']);

/** After this many malformed lines in one head, the further lines are only counted. */
const MALFORMED_REPORTED_MAX = 20;

export type HeadFault = { readonly code: FindingCode; readonly detail: string };

/**
 * Reads the WARC head in `bytes`, from its version line to its empty line. Faults are added to `faults`, never thrown.
 * `faults` must be empty.
 */
export function parseWarcHead(bytes: Uint8Array, faults: HeadFault[]): RecordHead {
  const isPlain = isAscii(bytes);
  const isMixed = !isPlain && !isUtf8(bytes);
  const text = isPlain || isMixed ? fromLatin1(bytes) : fromUtf8(bytes);
  const firstLf = text.indexOf('\n');
  const version = text.slice(5, firstLf < 0 ? text.length : firstLf).trim();
  if (!KNOWN_VERSIONS.has(version)) faults.push({ code: 'version-unknown', detail: version.slice(0, 40) });
  let malformed = 0;
  const fields = parseFields(text, firstLf < 0 ? text.length : firstLf + 1, (line) => {
    if (++malformed <= MALFORMED_REPORTED_MAX)
      faults.push({ code: 'field-malformed', detail: JSON.stringify(line.slice(0, 80)) });
  });
  if (malformed > MALFORMED_REPORTED_MAX)
    faults.push({ code: 'field-malformed', detail: `${malformed - MALFORMED_REPORTED_MAX} more lines` });
  const decoded = isMixed ? fields.map(({ name, value }) => ({ name, value: utf8OrLatin1(value) })) : fields;
  const head = new RecordHead('warc', version, decoded, bytes);
  head.isUtf8 = !isMixed;
  judge(head, faults);
  head.form = formOf(head, text, faults);
  return head;
}

/** Takes a text that was read as Latin-1, and decodes it as UTF-8 if its bytes are UTF-8. */
function utf8OrLatin1(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? fromUtf8(bytes) : text;
}

/** Fields of a head from `at` on. Folded lines are joined with one space, and no value contains a line end. */
export function parseFields(text: string, at: number, malformed: (line: string) => void): Field[] {
  const fields: { name: string; value: string }[] = [];
  /** The next colon. It is searched for only once, however many lines without a colon come before it. */
  let colon = -1;
  while (at < text.length) {
    let lineEnd = text.indexOf('\n', at);
    if (lineEnd < 0) lineEnd = text.length;
    const stop = text.charCodeAt(lineEnd - 1) === 0x0d && lineEnd > at ? lineEnd - 1 : lineEnd;
    const start = at;
    at = lineEnd + 1;
    if (stop === start) continue;
    const first = text.charCodeAt(start);
    const last = fields[fields.length - 1];
    if ((first === 0x20 || first === 0x09) && last) {
      // Joined without copying the earlier text, so that a head of only folded lines costs no more than any other head.
      const rest = valueIn(text, start, stop);
      if (rest !== '') last.value = last.value === '' ? rest : `${last.value} ${rest}`;
      continue;
    }
    if (colon < start) {
      colon = text.indexOf(':', start);
      if (colon < 0) colon = text.length;
    }
    if (colon <= start || colon >= stop) {
      malformed(text.slice(start, stop));
      continue;
    }
    const name = text.slice(start, colon).trimEnd();
    fields.push({ name, value: valueIn(text, colon + 1, stop, name) });
  }
  return fields;
}

/**
 * A CR inside a line is not a line end: it is read as a blank (RFC 9112, section 2.2). In a URI it is an ordinary
 * character.
 */
function valueIn(text: string, from: number, to: number, name = ''): string {
  const value = trimmed(text, from, to);
  if (!value.includes('\r')) return value;
  if (name.toLowerCase() === 'warc-target-uri') return escapeControls(value.replace(/\r+$/, ''));
  return value.replace(/\r+/g, ' ').trim();
}

function trimmed(text: string, from: number, to: number): string {
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function judge(head: RecordHead, faults: HeadFault[]): void {
  for (const name of SINGLE_FIELDS) {
    let count = 0;
    for (const field of head.fields) {
      if (isNamed(field, name) && ++count === 2) faults.push({ code: 'field-duplicate', detail: field.name });
    }
  }
  if (!head.get('warc-type')) faults.push({ code: 'field-missing', detail: 'WARC-Type' });
  if (!head.recordId) faults.push({ code: 'field-missing', detail: 'WARC-Record-ID' });
  if (head.contentLength === undefined) {
    faults.push({ code: 'content-length-invalid', detail: lengthDetail(head.get('content-length')) });
  } else if (!LENGTH.test(head.get('content-length')!)) {
    faults.push({ code: 'field-malformed', detail: lengthDetail(head.get('content-length')) });
  }
  const date = head.date;
  if (!date) faults.push({ code: 'field-missing', detail: 'WARC-Date' });
  else if (!isStandardDate(date)) faults.push(dateFault(date, head.standardDate));
  if (head.get('warc-target-uri')?.startsWith('<'))
    faults.push({ code: 'target-uri-bracketed', detail: 'WARC-Target-URI' });
}

function dateFault(written: string, means: string | undefined): HeadFault {
  if (means === undefined) return { code: 'date-invalid', detail: JSON.stringify(written) };
  return { code: 'date-nonstandard', detail: `${JSON.stringify(written)}, read as ${means}` };
}

function lengthDetail(length: string | undefined): string {
  return length === undefined ? 'Content-Length is missing' : `Content-Length is ${JSON.stringify(length)}`;
}

/** Gives the head line of an ARC record the form of a WARC head. */
export function arcHead(line: ArcLine, version: string, bytes: Uint8Array, faults: HeadFault[]): RecordHead {
  const isFiledesc = /^filedesc:/i.test(line.url);
  const isHttp = /^https?:/i.test(line.url);
  const date = dateOfTimestamp(line.timestamp);
  const mime = line.mime.replace(CONTROLS, ' ').trim();
  const isPlain = line.timestamp.length === 14 && parseTimestamp(line.timestamp) !== undefined;
  if (!isPlain) faults.push(dateFault(line.timestamp, date));
  const fields: Field[] = [
    { name: 'WARC-Type', value: isFiledesc ? 'filedesc' : 'response' },
    { name: 'WARC-Target-URI', value: escapeControls(utf8OrLatin1(line.url)) },
    ...(date === undefined ? [] : [{ name: 'WARC-Date', value: date }]),
    ...(isPlain ? [] : [{ name: SOURCE_DATE_FIELD, value: line.timestamp.replace(CONTROLS, ' ') }]),
    { name: 'WARC-IP-Address', value: line.address.replace(CONTROLS, ' ') },
    { name: 'Content-Type', value: isHttp ? 'application/http; msgtype=response' : mime },
    { name: 'Content-Length', value: String(line.length) },
    { name: 'ARC-Mime', value: mime },
  ];
  const head = new RecordHead('arc', version, fields, bytes);
  if (date === undefined) head.form = 'odd';
  if (head.contentLength === undefined) faults.push({ code: 'content-length-invalid', detail: String(line.length) });
  return head;
}

/** Whole seconds, as ARC has them; undefined for a text that is not a time. */
function dateOfTimestamp(text: string): string | undefined {
  const time = parseRecordDate(text);
  return time === undefined ? undefined : formatW3cDate(Math.floor(time / 1000) * 1000);
}
