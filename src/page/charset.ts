/**
 * Finds the charset of a text and decodes the text, as browsers do (WHATWG Encoding; HTML, "determining the character
 * encoding"). The charset comes from the byte order mark, the HTTP field, or a `meta` element or XML declaration near
 * the start. If none of them declares it, it is guessed from the bytes.
 *
 * Charset names are those of the WHATWG standard, in lower case. Labels that the standard replaces for safety
 * (`iso-2022-kr`, `hz-gb-2312`) count as undeclared.
 */
import { fromLatin1, fromUtf8 } from '../base/index.ts';
import { guessCharset } from './charset-guess.ts';

/** How many bytes are searched for declarations. The standard says 1,024, but real pages begin with long scripts. */
const PRESCAN_BYTES = 4096;

const labels = new Map<string, string | undefined>();

/** The standard name for a charset label; undefined if the label is unknown. */
function charsetOfLabel(label: string): string | undefined {
  const trimmed = label.trim().toLowerCase();
  if (trimmed === '' || trimmed.length > 40) return undefined;
  if (labels.has(trimmed)) return labels.get(trimmed);
  let name: string | undefined;
  try {
    name = new TextDecoder(trimmed).encoding;
  } catch {
    name = undefined;
  }
  if (labels.size < 500) labels.set(trimmed, name);
  return name;
}

/** The charset parameter of a Content-Type value. */
export function charsetOfContentType(contentType: string | undefined): string | undefined {
  const match =
    contentType === undefined ? null : /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))/i.exec(contentType);
  return match ? charsetOfLabel(match[1] ?? match[2] ?? match[3] ?? '') : undefined;
}

function charsetOfByteOrderMark(start: Uint8Array): string | undefined {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return 'utf-8';
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be';
  return start[0] === 0xff && start[1] === 0xfe ? 'utf-16le' : undefined;
}

/** The charset that the start of a text declares, or a guess. A longer start improves the guess. */
export function sniffCharset(start: Uint8Array, contentType?: string): string {
  return (
    charsetOfByteOrderMark(start) ?? charsetOfContentType(contentType) ?? declaredCharset(start) ?? guessCharset(start)
  );
}

/** The charset that `meta` elements or the XML declaration in the first bytes declare. */
function declaredCharset(start: Uint8Array): string | undefined {
  // The bytes are read as ASCII, so a declaration of UTF-16 in them is wrong.
  const head = fromLatin1(start, 0, Math.min(start.length, PRESCAN_BYTES));
  const xml = /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([^"'>]{1,40})["']/.exec(head)?.[1];
  const charset = (xml === undefined ? undefined : charsetOfLabel(xml)) ?? charsetOfMeta(head);
  if (charset === 'utf-16be' || charset === 'utf-16le') return 'utf-8';
  return charset === 'x-user-defined' ? 'windows-1252' : charset;
}

const TAG = /<!--.*?-->|<meta[\s/]([^>]{0,1000})>/gis;

function charsetOfMeta(head: string): string | undefined {
  // Cut off a comment that does not end in these bytes. The pattern below would be slow if it tried each unclosed
  // comment.
  const cut = /<!--(?!.*-->)/s.exec(head);
  const searched = cut ? head.slice(0, cut.index) : head;
  for (const match of searched.matchAll(TAG)) {
    const attributes = match[1];
    if (attributes === undefined) continue;
    const label = /charset\s*=\s*["']?\s*([^\s"'/>;]{1,40})/i.exec(attributes)?.[1];
    const charset = label === undefined ? undefined : charsetOfLabel(label);
    if (charset !== undefined) return charset;
  }
  return undefined;
}

/** How many bytes of a text the guess uses. */
const GUESS_BYTES = 256 * 1024;

/** Decodes a document and removes its byte order mark. Invalid bytes become U+FFFD. */
export function decodeText(bytes: Uint8Array, contentType?: string): { text: string; charset: string } {
  const charset = sniffCharset(bytes.length > GUESS_BYTES ? bytes.subarray(0, GUESS_BYTES) : bytes, contentType);
  return { text: decodeAs(bytes, charset), charset };
}

function decodeAs(bytes: Uint8Array, charset: string): string {
  if (charset !== 'utf-8') return new TextDecoder(charset).decode(bytes);
  const text = fromUtf8(bytes);
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
