/**
 * What scripts load by names that are written out in them: `import ... from '../x.js'`, `export ... from`,
 * `import('../x.js')`, `new URL('x.png', import.meta.url)`, and the lists of files that Vite keeps beside its imports.
 * Import maps are read along.
 *
 * No parser: a name counts where the words around it say so, and that one in a string or a comment is asked for in vain
 * is no harm. Names that are made by the script are not found. Every pattern is bounded, so that the time is linear for
 * any text.
 */
import { arrayOf, objectOf, stringOf } from '../json-value.ts';
import { type Link, LinkCollector } from '../link.ts';

/** Longer ones are no import maps. */
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
 * What Vite loads before an import: a list of files of the site, counted from its root. Taken file by file, for a
 * pattern of them all has no memory for very many.
 */
const LIST = /\[(?=["'`])/g;
const FILE = /(["'`])([^"'`\\\s]{1,300}\.(?:m?js|css))\1,?(\]?)/y;

const PLACE = /^(?:\.{0,2}\/|https?:\/\/)/i;

/** An import map: names, and what they stand for. */
export type ImportMap = ReadonlyMap<string, string>;

const SCRIPT_MIME = /^(?:text|application)\/(?:x-)?(?:javascript|ecmascript|jscript|livescript)(?:1\.\d)?$/;

/** Whether this media type is one of scripts. */
export function isScriptMime(mime: string): boolean {
  return SCRIPT_MIME.test(mime);
}

/** What the file of a script names. */
export function linksOfScript(bytes: Uint8Array, url: string): Link[] {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!source.includes('import') && !source.includes('export')) return [];
  const links = new LinkCollector();
  const text = source.toString('utf8');
  collectModuleLinks(text, links);
  const place = new URL(url);
  if (text.includes('import('))
    for (const { index } of text.matchAll(LIST))
      for (const file of filesAt(text, index + 1)) addName(links, PLACE.test(file) ? file : fromRoot(file, place));
  return links.resolve(url);
}

/** The files of a list that has nothing else in it. */
function filesAt(text: string, start: number): string[] {
  const files: string[] = [];
  FILE.lastIndex = start;
  for (let match = FILE.exec(text); match; match = FILE.exec(text)) {
    files.push(match[2]!);
    if (match[3] !== '') return files;
  }
  return [];
}

/** Adds what a module names. */
export function collectModuleLinks(text: string, links: LinkCollector, map?: ImportMap): void {
  for (const pattern of [STATIC, DYNAMIC])
    for (const match of text.matchAll(pattern))
      if (!isInComment(text, match.index)) addName(links, PLACE.test(match[2]!) ? match[2]! : mapped(match[2]!, map));
  for (const match of text.matchAll(ASSET)) links.add(match[2]!, 'data', true);
}

function addName(links: LinkCollector, name: string | undefined): void {
  if (name !== undefined) links.add(name, name.endsWith('.css') ? 'style' : 'script', true);
}

/**
 * Whether the line up to here is a comment, as source code that was taken out is. A line that begins too far ahead is
 * none.
 */
function isInComment(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 200), at);
  const start = before.lastIndexOf('\n') + 1;
  if (start === 0 && before.length < at) return false;
  const line = before.slice(start);
  return /^\s*(?:\/\/|\/?\*)/.test(line) && !line.includes('*/');
}

/** A name that begins with a directory in which the script itself lies: `assets/x.css`, in `/base/assets/y.js`. */
function fromRoot(file: string, { origin, pathname }: URL): string | undefined {
  const at = pathname.lastIndexOf(`/${file.slice(0, file.indexOf('/') + 1)}`);
  return file.includes('/') && at >= 0 ? origin + pathname.slice(0, at + 1) + file : undefined;
}

/** What a name stands for: the longest that is a beginning of it counts, if it ends with a slash. */
function mapped(name: string, map: ImportMap | undefined): string | undefined {
  for (let end = name.length; map && map.size > 0 && end > 0; end = name.lastIndexOf('/', end - 2) + 1) {
    const place = map.get(name.slice(0, end));
    if (place !== undefined) return place + name.slice(end);
  }
  return undefined;
}

/**
 * Reads an import map, and adds the files that it names: scripts elsewhere may load them by names that only the map
 * explains. What an earlier map of the page says holds.
 */
export function collectImportMap(text: string, links: LinkCollector, earlier?: ImportMap): ImportMap {
  const map = new Map(earlier);
  if (text.length > MAP_LENGTH_MAX) return map;
  try {
    const { imports, scopes } = objectOf(JSON.parse(text));
    for (const names of [imports, ...arrayOf(Object.values(objectOf(scopes)), NAMES_MAX)])
      for (const [name, value] of Object.entries(objectOf(names)).slice(0, NAMES_MAX)) {
        const place = stringOf(value);
        if (!PLACE.test(place) || map.size >= NAMES_MAX) continue;
        if (!map.has(name)) map.set(name, place);
        if (!name.endsWith('/')) addName(links, place);
      }
  } catch {
    // What is no JSON maps nothing.
  }
  return map;
}
