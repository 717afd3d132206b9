/**
 * Parses `srcset` and `imagesrcset` with the steps of the HTML standard, so that a comma in a URL does not split it.
 */

const CANDIDATES_MAX = 200;

export function srcsetUrls(value: string): string[] {
  const urls: string[] = [];
  let at = 0;
  while (at < value.length && urls.length < CANDIDATES_MAX) {
    while (at < value.length && (isSpace(value.charCodeAt(at)) || value[at] === ',')) at++;
    const start = at;
    while (at < value.length && !isSpace(value.charCodeAt(at))) at++;
    let end = at;
    if (value[end - 1] === ',') {
      while (end > start && value[end - 1] === ',') end--;
    } else {
      at = descriptorEnd(value, at);
    }
    if (end > start) urls.push(value.slice(start, end));
  }
  return urls;
}

/** A descriptor ends at the next comma that is not in parentheses. */
function descriptorEnd(value: string, at: number): number {
  let depth = 0;
  for (; at < value.length; at++) {
    const character = value[at];
    if (character === '(') depth++;
    else if (character === ')' && depth > 0) depth--;
    else if (character === ',' && depth === 0) break;
  }
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}
