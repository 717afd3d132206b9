/**
 * Reads the XML of requests: elements and text, nothing else. It is strict, because the documents come from programs:
 * declarations of types and entities, entities beyond the five of XML, processing instructions and CDATA are refused.
 */
import { S3Error } from '../objects/s3-error.ts';

export type XmlElement = { readonly name: string; readonly text: string; readonly children: readonly XmlElement[] };

type OpenElement = { readonly name: string; text: string; readonly children: XmlElement[] };

const DEPTH_MAX = 8;
const ELEMENTS_MAX = 100_000;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const TOKEN = /<(\/?)([A-Za-z_][\w.-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|[^<]+/gy;

/** The root element of a document. Namespaces are ignored. */
export function readXml(bytes: Uint8Array): XmlElement {
  const text = decoded(bytes).replace(/^\ufeff?\s*<\?xml\s[^>]*\?>/, '');
  const open: OpenElement[] = [];
  let root: XmlElement | undefined;
  let elements = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text);
    if (!token) throw malformed();
    const [whole, slash, name, , empty] = token;
    const parent = open.at(-1);
    if (name === undefined) {
      if (parent) parent.text += unescaped(whole);
      else if (whole.trim() !== '') throw malformed();
      continue;
    }
    if (slash) {
      if (parent?.name !== name || empty) throw malformed();
      open.pop();
      if (open.length === 0) root = parent;
      continue;
    }
    if (root || open.length >= DEPTH_MAX || ++elements > ELEMENTS_MAX) throw malformed();
    const element: OpenElement = { name, text: '', children: [] };
    parent?.children.push(element);
    if (!empty) open.push(element);
    else if (!parent) root = element;
  }
  if (!root || open.length > 0) throw malformed();
  return root;
}

/** The text of the first child with this name. */
export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

export function malformed(): S3Error {
  return new S3Error('MalformedXML', 'The XML is not well formed, or is not the document that the request needs.');
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed();
  }
}

function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&([^;&]{0,8};)?/g, (_, body: string | undefined) => {
    const name = body?.slice(0, -1) ?? '';
    const character = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : numbered(name);
    if (character === undefined) throw malformed();
    return character;
  });
}

function numbered(name: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name) ?? [];
  const code = hex ? Number.parseInt(hex, 16) : decimal ? Number(decimal) : 0;
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}
