/**
 * Named parts of a `multipart/form-data` body (RFC 7578), as byte strings.
 *
 * The body is scanned once from delimiter to delimiter. A body that is not well-formed (no boundary, a part without a
 * name, no closing delimiter) gives undefined, never part of an answer: a key made of half a body would be the same for
 * different requests.
 */
import { fromLatin1 } from '../base/index.ts';

export type FormPart = { readonly name: string; readonly value: string };

/** Standards allow 70 characters. Searching for a very long boundary would take very long. */
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;,"]{1,200})(?![^\s;,"]))/i;
const DISPOSITION = /^content-disposition:[^\r\n]*?;\s*name=(?:"([^"\r\n]*)"|([^\s;"\r\n]+))/im;

/** Common indexers read at most this many parts. */
const PARTS_MAX = 128;

export function formParts(body: Uint8Array, contentType: string): FormPart[] | undefined {
  const boundary = BOUNDARY.exec(contentType);
  if (!boundary) return undefined;
  const delimiter = `\r\n--${boundary[1] ?? boundary[2]}`;
  const bytes = `\r\n${fromLatin1(body)}`;
  const parts: FormPart[] = [];
  let at = bytes.indexOf(delimiter);
  // A boundary inside a line means that the parts do not begin where they seem to.
  if (bytes.indexOf(delimiter.slice(2)) !== at + 2) return undefined;
  while (at >= 0) {
    const from = at + delimiter.length;
    if (bytes.startsWith('--', from)) return parts;
    const next = bytes.indexOf(delimiter, from);
    const part = next < 0 ? undefined : formPart(bytes.slice(from, next));
    if (!part || parts.length === PARTS_MAX) return undefined;
    parts.push(part);
    at = next;
  }
  return undefined;
}

function formPart(text: string): FormPart | undefined {
  const headEnd = text.indexOf('\r\n\r\n');
  if (!text.startsWith('\r\n') || headEnd < 0) return undefined;
  const disposition = DISPOSITION.exec(text.slice(2, headEnd));
  if (!disposition) return undefined;
  return { name: unquoted(disposition[1] ?? disposition[2]!), value: text.slice(headEnd + 4) };
}

/** Browsers escape exactly these three characters in a name. */
function unquoted(name: string): string {
  return name.replaceAll('%22', '"').replaceAll(/%0d/gi, '\r').replaceAll(/%0a/gi, '\n');
}
