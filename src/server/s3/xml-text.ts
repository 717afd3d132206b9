/** The XML documents of replies, as text. */

export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
};

function escapeXml(text: string): string {
  return (
    text
      .replace(/[&<>"\r\n\t]/g, (character) => ESCAPES[character]!)
      // XML 1.0 cannot express these characters at all.
      .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '\ufffd')
  );
}

/** An element with text; nothing for an undefined value. */
export function element(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? '' : `<${name}>${escapeXml(String(value))}</${name}>`;
}

/** An element with elements in it. */
export function group(name: string, inside: string): string {
  return `<${name}>${inside}</${name}>`;
}

export function xmlDocument(name: string, inside: string): string {
  return `${XML_DECLARATION}<${name} xmlns="${NAMESPACE}">${inside}</${name}>`;
}

export function errorDocument(code: string, message: string, resource: string, requestId: string): string {
  const place = element('Resource', resource) + element('RequestId', requestId);
  return `${XML_DECLARATION}<Error>${element('Code', code)}${element('Message', message)}${place}</Error>`;
}
