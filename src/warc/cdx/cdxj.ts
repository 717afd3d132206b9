/**
 * CDXJ 0.1.0: `key SP timestamp SP json LF`, where the JSON is one flat object.
 *
 * Lines are written byte for byte as cdxj-indexer does: the keys url, mime, status, digest, length, offset, filename in
 * this order, and absent ones left out. Numbers are texts, the separators are `", "` and `": "`, and everything outside
 * printable ASCII is \uXXXX. When reading, values may be numbers or texts, with any spacing and in any order. Two
 * dialects are also understood: OpenWayback CDXJ 1.0 (ISO time, a record type before the object, `uri mct hsc ref rle`)
 * and InterPlanetary Wayback (`original_uri mime_type status_code`). A key of a dialect is used when the standard key
 * is absent.
 */
import { COLON, formatTimestamp, parseW3cDate, SPACE } from '../../base/index.ts';
import {
  type CdxEntry,
  type CdxExtra,
  checkTimestamp,
  isIndexTimestamp,
  type JsonValue,
  NO_EXTRA,
  parseCount,
} from './cdx-entry.ts';
import { quoted, type ReportFault } from './cdx-finding.ts';

/** Reads one line without its end; undefined when it cannot be used and was reported. */
export function parseCdxjLine(line: string, report: ReportFault): CdxEntry | undefined {
  const keyEnd = line.indexOf(' ');
  const timestampEnd = keyEnd < 0 ? -1 : line.indexOf(' ', keyEnd + 1);
  if (timestampEnd < 0) {
    report('cdxj-parts', quoted(line));
    return undefined;
  }
  let objectStart = timestampEnd + 1;
  if (line.charCodeAt(objectStart) !== BRACE) {
    const afterType = line.indexOf(' {', objectStart);
    if (afterType > 0) objectStart = afterType + 1;
  }
  const members =
    (line.includes('\\') ? undefined : parsePlainObject(line, objectStart)) ??
    parseObject(line.slice(objectStart), report);
  if (members === undefined) return undefined;
  let timestamp = line.slice(keyEnd + 1, timestampEnd);
  if (!isIndexTimestamp(timestamp)) {
    const time = timestamp.includes('-') ? parseW3cDate(timestamp) : undefined;
    if (time !== undefined) timestamp = formatTimestamp(time);
    else if (!checkTimestamp(timestamp, report)) return undefined;
  }
  return entryOf(line.slice(0, keyEnd), timestamp, members, report);
}

/**
 * Nearly all objects are flat, without escapes, and contain only texts and whole numbers. These objects are parsed in
 * place, in half the time of a JSON parser. Any other object gives undefined, and the JSON parser reads it.
 */
function parsePlainObject(line: string, start: number): [string, JsonValue][] | undefined {
  const members: [string, JsonValue][] = [];
  if (line.charCodeAt(start) !== BRACE) return undefined;
  let at = start + 1;
  for (;;) {
    while (line.charCodeAt(at) === SPACE) at++;
    if (line.charCodeAt(at) !== QUOTE) return undefined;
    const keyEnd = line.indexOf('"', at + 1);
    const key = line.slice(at + 1, keyEnd);
    at = keyEnd + 1;
    if (keyEnd < 0 || line.charCodeAt(at) !== COLON) return undefined;
    at++;
    while (line.charCodeAt(at) === SPACE) at++;
    if (line.charCodeAt(at) === QUOTE) {
      const valueEnd = line.indexOf('"', at + 1);
      if (valueEnd < 0) return undefined;
      members.push([key, line.slice(at + 1, valueEnd)]);
      at = valueEnd + 1;
    } else {
      const from = at;
      while (isDigit(line.charCodeAt(at))) at++;
      const isPlain = at > from && at - from < 16 && (line.charCodeAt(from) !== ZERO || at - from === 1);
      if (!isPlain) return undefined;
      members.push([key, Number(line.slice(from, at))]);
    }
    while (line.charCodeAt(at) === SPACE) at++;
    const code = line.charCodeAt(at++);
    if (code === BRACE_CLOSE) return at === line.length ? members : undefined;
    if (code !== COMMA) return undefined;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const BRACE = 0x7b;
const BRACE_CLOSE = 0x7d;
const isDigit = (code: number) => code >= ZERO && code <= 0x39;

function parseObject(text: string, report: ReportFault): [string, JsonValue][] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isDeeper(value, LEVELS_MAX)) {
      return Object.entries(value as { [key: string]: JsonValue });
    }
  } catch {
    // Reported below, like valid JSON that is not an object, or that is nested too deep to be written without a stack
    // overflow.
  }
  report('cdxj-json', quoted(text));
  return undefined;
}

const LEVELS_MAX = 100;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

const NAMED = new Set(['url', 'mime', 'status', 'digest', 'length', 'offset', 'filename', 'redirect', 'robotflags']);

function entryOf(
  urlKey: string,
  timestamp: string,
  members: readonly [string, JsonValue][],
  report: ReportFault,
): CdxEntry {
  let url: string | undefined;
  let mime: string | undefined;
  let status: string | undefined;
  let digest: string | undefined;
  let redirect: string | undefined;
  let robotFlags: string | undefined;
  let length: number | undefined;
  let offset: number | undefined;
  let filename: string | undefined;
  let extra: (readonly [string, JsonValue])[] | undefined;
  for (const member of members) {
    const [key, value] = member;
    let isTaken = true;
    if (value === null) isTaken = NAMED.has(key);
    else if (key === 'url') isTaken = (url = textOf(value)) !== undefined;
    else if (key === 'mime') isTaken = (mime = textOf(value)) !== undefined;
    else if (key === 'status') isTaken = (status = textOf(value)) !== undefined;
    else if (key === 'digest') isTaken = (digest = textOf(value)) !== undefined;
    else if (key === 'length') isTaken = (length = countOf(value)) !== undefined;
    else if (key === 'offset') isTaken = (offset = countOf(value)) !== undefined;
    else if (key === 'filename') isTaken = (filename = textOf(value)) !== undefined;
    else if (key === 'redirect') isTaken = (redirect = textOf(value)) !== undefined;
    else if (key === 'robotflags') isTaken = (robotFlags = textOf(value)) !== undefined;
    else isTaken = false;
    if (isTaken) continue;
    if (NAMED.has(key) && value !== '-') report('cdxj-value', `${key} is ${quoted(JSON.stringify(value))}`);
    if (extra === undefined) extra = [member];
    else extra.push(member);
  }
  const entry: CdxEntry = {
    urlKey,
    timestamp,
    url,
    mime,
    status,
    digest,
    redirect,
    robotFlags,
    length,
    offset,
    filename,
    extra: extra ?? NO_EXTRA,
  };
  return url === undefined && extra !== undefined ? withDialectKeys(entry, extra) : entry;
}

function textOf(value: JsonValue): string | undefined {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined;
}

function countOf(value: JsonValue): number | undefined {
  if (typeof value === 'string') return parseCount(value);
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

const WARC_REFERENCE = /^warcfile:(.*)#(\d+)$/s;

/** Reads the named fields from the keys of other tools. Keys that were understood are removed from `extra`. */
function withDialectKeys(entry: CdxEntry, extra: CdxExtra): CdxEntry {
  const taken = new Set<string>();
  const take = (present: string | undefined, ...keys: string[]) => {
    if (present !== undefined) return present;
    const found = extra.find(([key, value]) => keys.includes(key) && textOf(value) !== undefined);
    if (found) taken.add(found[0]);
    return found && textOf(found[1]);
  };
  const url = take(entry.url, 'uri', 'original_uri', 'original');
  const mime = take(entry.mime, 'mct', 'mime_type', 'mimetype');
  const status = take(entry.status, 'hsc', 'status_code', 'statuscode');
  let { filename, offset, length } = entry;
  const reference = WARC_REFERENCE.exec(textOf(extra.find(([key]) => key === 'ref')?.[1] ?? '') ?? '');
  if (reference && filename === undefined && offset === undefined) {
    filename = reference[1];
    offset = parseCount(reference[2]!);
    taken.add('ref');
  }
  const recordLength = extra.find(([key]) => key === 'rle')?.[1];
  if (reference && length === undefined && recordLength !== undefined) {
    length = countOf(recordLength);
    if (length !== undefined) taken.add('rle');
  }
  return { ...entry, url, mime, status, filename, offset, length, extra: extra.filter(([key]) => !taken.has(key)) };
}

/** Writes one line, without line end. */
export function formatCdxjLine(entry: CdxEntry): string {
  let json = '';
  if (entry.url !== undefined) json += `, "url": ${jsonText(entry.url)}`;
  if (entry.mime !== undefined) json += `, "mime": ${jsonText(entry.mime)}`;
  if (entry.status !== undefined) json += `, "status": ${jsonText(entry.status)}`;
  if (entry.digest !== undefined) json += `, "digest": ${jsonText(entry.digest)}`;
  if (entry.length !== undefined) json += `, "length": "${entry.length}"`;
  if (entry.offset !== undefined) json += `, "offset": "${entry.offset}"`;
  if (entry.filename !== undefined) json += `, "filename": ${jsonText(entry.filename)}`;
  if (entry.redirect !== undefined) json += `, "redirect": ${jsonText(entry.redirect)}`;
  if (entry.robotFlags !== undefined) json += `, "robotflags": ${jsonText(entry.robotFlags)}`;
  for (const [key, value] of entry.extra) json += `, ${jsonText(key)}: ${formatJson(value)}`;
  const urlKey = BLANK.test(entry.urlKey) ? entry.urlKey.replace(/\s/gu, encodeURIComponent) : entry.urlKey;
  return `${urlKey} ${entry.timestamp} {${json.slice(2)}}`;
}

const BLANK = /\s/u;
const PLAIN = /^[ !#-[\]-~]*$/;
const BEYOND_ASCII = /[\x7f-\uffff]/g;

function jsonText(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(text).replace(BEYOND_ASCII, escaped);
}

/** JSON as Python's `json.dumps` writes it: a blank after commas and colons, ASCII only. */
export function formatJson(value: JsonValue): string {
  if (typeof value === 'string') return jsonText(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(formatJson).join(', ')}]`;
  const members = Object.entries(value).map(([key, member]) => `${jsonText(key)}: ${formatJson(member)}`);
  return `{${members.join(', ')}}`;
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
