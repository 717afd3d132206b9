/**
 * The head of an HTTP message inside a block. It is parsed leniently, as browsers do, and the original bytes are kept.
 *
 * Seen in real archives and understood here: LF alone, a space before the colon, `HTTP 200` without a version,
 * lower-case `http/1.1`, folded lines, bytes beyond ASCII, a head that never ends.
 */
import { fromLatin1, fromUtf8, HTTP_HEAD_BYTES_MAX } from '../../base/index.ts';
import { type Field, headEnd, isNamed, parseFields } from '../record/record-head.ts';

const METHOD_BYTES_MAX = 32;

export class HttpHead {
  /** `HTTP/1.1 200 OK` or `GET / HTTP/1.1`, as written. */
  readonly startLine: string;
  readonly fields: readonly Field[];
  /** The head with its empty line. */
  readonly bytes: Uint8Array;
  // Cached, because callers read these values several times for every record.
  #status: number | undefined | null = null;
  #isChunked: boolean | undefined;
  #contentCodings: readonly string[] | undefined;

  constructor(startLine: string, fields: readonly Field[], bytes: Uint8Array) {
    this.startLine = startLine;
    this.fields = fields;
    this.bytes = bytes;
  }

  /** Value of the first field with this name; the name is in lower case. */
  get(name: string): string | undefined {
    for (const field of this.fields) if (isNamed(field, name)) return field.value;
    return undefined;
  }

  /** Status of a response; undefined for a request or an unreadable status line. */
  get status(): number | undefined {
    if (this.#status === null) this.#status = this.#readStatus();
    return this.#status;
  }

  #readStatus(): number | undefined {
    const match = /^(?:http(?:\/[\w.]+)?|icy)\s+(\d{3})(?:\s|$)/i.exec(this.startLine);
    return match ? Number(match[1]) : undefined;
  }

  /** Method of a request. */
  get method(): string | undefined {
    return /^([!-~]+)\s+\S/.exec(this.startLine)?.[1];
  }

  /** Whether the body is chunked. `Transfer-Encoding` can occur several times and contain several codings. */
  get isChunked(): boolean {
    this.#isChunked ??= this.fields.some(
      (field) => isNamed(field, 'transfer-encoding') && /(^|[\s,])chunked($|[\s,;])/i.test(field.value),
    );
    return this.#isChunked;
  }

  /**
   * Content codings in the order in which they were applied. A transfer coding other than chunked counts as a content
   * coding, as in browsers.
   */
  get contentCodings(): readonly string[] {
    this.#contentCodings ??= [...this.#codingsIn('content-encoding'), ...this.#codingsIn('transfer-encoding')];
    return this.#contentCodings;
  }

  #codingsIn(name: string): readonly string[] {
    if (this.get(name) === undefined) return NO_CODINGS;
    const values = this.fields.filter((field) => isNamed(field, name)).map((field) => field.value);
    const codings = values.flatMap((value) => value.split(',').map((part) => part.trim().toLowerCase()));
    return codings.filter((coding) => coding && coding !== 'chunked' && coding !== 'identity');
  }
}

const NO_CODINGS: readonly string[] = [];

export type MessageKind = 'request' | 'response';

/** Length of the HTTP head at the start of `block`; 0 when there is none; -1 when more bytes are needed to decide. */
export function httpHeadLength(block: Buffer, kind: MessageKind, isWhole: boolean): number {
  const begins = kind === 'response' ? beginsResponse(block) : beginsRequest(block);
  if (begins === 'no') return 0;
  if (begins === 'maybe') return isWhole ? 0 : -1;
  const end = headEnd(block, 0, block.length);
  if (end >= 0) return end;
  if (isWhole) return block.length;
  return block.length > HTTP_HEAD_BYTES_MAX ? 0 : -1;
}

type Guess = 'yes' | 'no' | 'maybe';

/** `HTTP/1.1`, `HTTP 200`, and the `ICY 200` of audio streams. */
function beginsResponse(block: Buffer): Guess {
  if (isUsualResponse(block)) return 'yes';
  const start = fromLatin1(block, 0, Math.min(block.length, 5)).toLowerCase();
  if (/^(http[/ ]|icy )/.test(start)) return 'yes';
  return ['http/', 'http ', 'icy '].some((whole) => whole.startsWith(start)) ? 'maybe' : 'no';
}

/** `HTTP/`, the beginning of nearly all heads, checked without creating a string. */
function isUsualResponse(block: Buffer): boolean {
  return (
    block.length >= 5 &&
    block[0] === 0x48 &&
    block[1] === 0x54 &&
    block[2] === 0x54 &&
    block[3] === 0x50 &&
    block[4] === 0x2f
  );
}

/** A method, a space and a target. Some browser extensions wrote a status line instead. */
function beginsRequest(block: Buffer): Guess {
  if (beginsResponse(block) === 'yes') return 'yes';
  const start = fromLatin1(block, 0, Math.min(block.length, METHOD_BYTES_MAX + 2));
  if (/^[A-Za-z][A-Za-z-]* \S/.test(start)) return 'yes';
  return start.length < METHOD_BYTES_MAX + 2 && /^([A-Za-z][A-Za-z-]* ?)?$/.test(start) ? 'maybe' : 'no';
}

export function parseHttpHead(bytes: Uint8Array): HttpHead {
  // Field values are ASCII by the standard, and UTF-8 or Latin-1 in real files.
  const asUtf8 = fromUtf8(bytes);
  const isLatin1 = asUtf8.includes('\ufffd');
  const text = isLatin1 ? fromLatin1(bytes) : asUtf8;
  const firstLf = text.indexOf('\n');
  const startLine = (firstLf < 0 ? text : text.slice(0, firstLf)).trimEnd();
  const fields = firstLf < 0 ? [] : parseFields(text, firstLf + 1, () => {});
  return new HttpHead(startLine, isLatin1 ? fields.map(withPlainLocation) : fields, bytes);
}

/** Browsers request a location with the bytes that the server wrote. Only the host is encoded differently. */
function withPlainLocation(field: Field): Field {
  if (!isNamed(field, 'location')) return field;
  const { value } = field;
  const hostEnd = /^(?:[^/?#]*:)?\/\/[^/?#]*/.exec(value)?.[0].length ?? 0;
  const escaped = (byte: string) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;
  return { ...field, value: value.slice(0, hostEnd) + value.slice(hostEnd).replace(/[\x80-\xff]/g, escaped) };
}
