/**
 * Finds the files that scripts load by literal names: `import ... from '../x.js'`, `export ... from`,
 * `import('../x.js')`, `new URL('x.png', import.meta.url)`, and the file lists of Vite. It also reads import maps.
 *
 * It uses patterns instead of a parser. A match in a string or comment costs a useless request, and does no other harm.
 * Names that a script computes are not found. Every pattern is bounded, so that the time is linear for any text.
 */
import { arrayOf, objectOf, stringOf } from '../json-value.ts';
import { type Link, LinkCollector } from '../link.ts';

/** A text longer than this is not read as an import map. */
const MAP_LENGTH_MAX = 2 * 1024 * 1024;
const NAMES_MAX = 5000;

const NAME = '([^"\'`\\\\\\s{}<>|^]{1,1000})';
const STATIC = new RegExp(`(?:[}\\s*]from|(?<![\\w$.#])import)\\s{0,20}(["'])${NAME}\\1`, 'g');
const DYNAMIC = new RegExp(
  `(?<![\\w$.#])import\\s{0,20}\\(\\s{0,100}(?:/\\*[^*]{0,500}\\*/\\s{0,100})?(["'\`])${NAME}\\1\\s{0,100}[),]`,
  'g',
);
const ASSET = new RegExp(`\\bnew\\s{1,20}URL\\(\\s{0,20}(["'\`])${NAME}\\1\\s{0,20},\\s{0,20}import\\.meta\\.url`, 'g');
/**
 * The start of a list of files that Vite loads before an import. The files are relative to the root of the site. They
 * are matched one by one, because one pattern for the whole list runs out of memory on very long lists.
 */
const LIST = /\[(?=["'`])/g;
const FILE = /(["'`])([^"'`\\\s]{1,300}\.(?:m?js|css))\1,?(\]?)/y;

const URL_START = /^(?:\.{0,2}\/|https?:\/\/)/i;

/** An import map: names and their URLs. */
export type ImportMap = ReadonlyMap<string, string>;

const SCRIPT_MIME = /^(?:text|application)\/(?:x-)?(?:javascript|ecmascript|jscript|livescript)(?:1\.\d)?$/;

/** True for the media types of scripts. */
export function isScriptMime(mime: string): boolean {
  return SCRIPT_MIME.test(mime);
}

/** The links of a script file. */
export function linksOfScript(bytes: Uint8Array, url: string): Link[] {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!source.includes('import') && !source.includes('export')) return [];
  const links = new LinkCollector();
  const text = source.toString('utf8');
  collectModuleLinks(text, links);
  const place = new URL(url);
  if (text.includes('import('))
    for (const { index } of text.matchAll(LIST))
      for (const file of filesAt(text, index + 1)) addName(links, URL_START.test(file) ? file : fromRoot(file, place));
  return links.resolve(url);
}

/** The files of a list; empty if the list has other values. */
function filesAt(text: string, start: number): string[] {
  const files: string[] = [];
  FILE.lastIndex = start;
  for (let match = FILE.exec(text); match; match = FILE.exec(text)) {
    files.push(match[2]!);
    if (match[3] !== '') return files;
  }
  return [];
}

/** Adds the links of a module. */
export function collectModuleLinks(text: string, links: LinkCollector, map?: ImportMap): void {
  for (const pattern of [STATIC, DYNAMIC])
    for (const match of text.matchAll(pattern))
      if (!isInComment(text, match.index))
        addName(links, URL_START.test(match[2]!) ? match[2]! : lookUp(match[2]!, map));
  for (const match of text.matchAll(ASSET)) links.add(match[2]!, 'data', true);
}

function addName(links: LinkCollector, name: string | undefined): void {
  if (name !== undefined) links.add(name, name.endsWith('.css') ? 'style' : 'script', true);
}

/**
 * True if the line that contains `at` begins as a comment. False if the line begins more than 200 characters before.
 */
function isInComment(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 200), at);
  const start = before.lastIndexOf('\n') + 1;
  if (start === 0 && before.length < at) return false;
  const line = before.slice(start);
  return /^\s*(?:\/\/|\/?\*)/.test(line) && !line.includes('*/');
}

/**
 * Resolves a name whose first directory also contains the script: in `/base/assets/y.js`, `assets/x.css` is
 * `/base/assets/x.css`.
 */
function fromRoot(file: string, { origin, pathname }: URL): string | undefined {
  const at = pathname.lastIndexOf(`/${file.slice(0, file.indexOf('/') + 1)}`);
  return file.includes('/') && at >= 0 ? origin + pathname.slice(0, at + 1) + file : undefined;
}

/** Looks up a name in an import map: the whole name, or else its longest prefix that ends with a slash. */
function lookUp(name: string, map: ImportMap | undefined): string | undefined {
  for (let end = name.length; map && map.size > 0 && end > 0; end = name.lastIndexOf('/', end - 2) + 1) {
    const place = map.get(name.slice(0, end));
    if (place !== undefined) return place + name.slice(end);
  }
  return undefined;
}

/**
 * Reads an import map and adds the files in it, because external scripts may import them by their names in the map.
 * Entries of earlier maps of the page take precedence.
 */
export function collectImportMap(text: string, links: LinkCollector, earlier?: ImportMap): ImportMap {
  const map = new Map(earlier);
  if (text.length > MAP_LENGTH_MAX) return map;
  try {
    const { imports, scopes } = objectOf(JSON.parse(text));
    for (const names of [imports, ...arrayOf(Object.values(objectOf(scopes)), NAMES_MAX)])
      for (const [name, value] of Object.entries(objectOf(names)).slice(0, NAMES_MAX)) {
        const place = stringOf(value);
        if (!URL_START.test(place) || map.size >= NAMES_MAX) continue;
        if (!map.has(name)) map.set(name, place);
        if (!name.endsWith('/')) addName(links, place);
      }
  } catch {
    // Invalid JSON has no entries.
  }
  return map;
}
