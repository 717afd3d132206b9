/**
 * Rewrites the candidates of `srcset` and `imagesrcset` (HTML, "parsing a srcset attribute"). A candidate is a URL up
 * to the next white space, and a descriptor up to a comma outside of parentheses. Commas at the end of the URL belong
 * to the list.
 */

export function rewriteSrcset(value: string, rewrite: (url: string) => string | undefined): string {
  let rewritten = '';
  let from = 0;
  let at = 0;
  const length = value.length;
  while (at < length) {
    while (at < length && (isSpace(value.charCodeAt(at)) || value[at] === ',')) at++;
    const start = at;
    while (at < length && !isSpace(value.charCodeAt(at))) at++;
    let end = at;
    while (end > start && value[end - 1] === ',') end--;
    if (end > start) {
      const url = rewrite(value.slice(start, end));
      if (url !== undefined) {
        // A URL that ends with a comma would lose it.
        rewritten += value.slice(from, start) + withLastCommasEscaped(url);
        from = end;
      }
    }
    if (end < at) continue;
    let depth = 0;
    for (; at < length; at++) {
      const character = value[at];
      if (character === '(') depth++;
      else if (character === ')') depth = Math.max(0, depth - 1);
      else if (character === ',' && depth === 0) break;
    }
  }
  return from === 0 ? value : rewritten + value.slice(from);
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d && code !== 0x0b);
}

function withLastCommasEscaped(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === ',') end--;
  return url.slice(0, end) + '%2C'.repeat(url.length - end);
}
