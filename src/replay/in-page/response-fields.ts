/**
 * Shows the fields of responses to scripts under their original names. An original field that must not act again has
 * another name in the server's answer.
 */
import { wrapGetter } from './property.ts';

export function restoreResponseFields(prefix: string): void {
  restoreFetchFields(prefix);
  if (self.XMLHttpRequest) restoreRequestFields(prefix);
}

function restoreFetchFields(prefix: string): void {
  const restored = new WeakMap<Headers, Headers>();
  wrapGetter(Response, 'headers', (sent: Headers) => {
    if (!isReplayed(sent)) return sent;
    let fields = restored.get(sent);
    if (!fields) {
      fields = new Headers(Array.from(originalFields(sent, prefix)));
      restored.set(sent, fields);
    }
    return fields;
  });
}

function restoreRequestFields(prefix: string): void {
  const prototype = XMLHttpRequest.prototype;
  const readField = prototype.getResponseHeader;
  const readAll = prototype.getAllResponseHeaders;
  prototype.getResponseHeader = function getResponseHeader(name) {
    const original = isCookie(name) ? null : readField.call(this, prefix + name);
    return original === null ? readField.call(this, name) : original;
  };
  prototype.getAllResponseHeaders = function getAllResponseHeaders() {
    const text = readAll.call(this);
    const lines = text.split('\r\n').filter(Boolean);
    const sent = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    if (!isReplayed(sent)) return text;
    const fields = Array.from(originalFields(sent, prefix)).sort();
    return fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  };
}

function originalFields(sent: Headers, prefix: string): Map<string, string> {
  const fields = new Map<string, string>();
  sent.forEach((value, name) => {
    if (/^content-(?:type|length|range|language|disposition)$/.test(name) && !fields.has(name)) fields.set(name, value);
    const original = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (original !== '' && !isCookie(original)) fields.set(original, value);
  });
  return fields;
}

function isCookie(name: string): boolean {
  return /^set-cookie2?$/i.test(name);
}

function isReplayed(sent: Headers): boolean {
  return sent.has('memento-datetime');
}
