/**
 * Decides the kind of content that a payload is rewritten as, by the request, the head, and the first bytes.
 *
 * Browsers say what they fetch a resource for (`Sec-Fetch-Dest`); if they do not, the modifier of the URL does. Content
 * that a script fetches passes as it is: wombat rewrites it when the script puts it into the page.
 */
import { fromLatin1 } from '../../base/index.ts';
import type { Modifier } from './modifier.ts';

export type ContentKind =
  | 'html'
  | 'xhtml'
  | 'svg'
  | 'css'
  | 'script'
  | 'module'
  | 'worker'
  | 'module-worker'
  | 'worker-import'
  | 'manifest'
  | 'hls'
  | 'dash'
  | 'bytes';

const SCRIPT_KINDS: ReadonlySet<ContentKind> = new Set([
  'script',
  'module',
  'worker',
  'module-worker',
  'worker-import',
]);

const HTML = /^text\/html\b/;
const XHTML = /^application\/(?:xhtml\+xml|vnd\.wap\.xhtml\+xml)\b/;
const SCRIPT = /^(?:text|application)\/(?:x-)?(?:java|ecma|live|j)script\b/;
const HLS = /^(?:application|audio)\/(?:vnd\.apple\.mpegurl|x-mpegurl|mpegurl)\b/;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b|^text\/json\b/;
/** Types that servers sent for scripts and styles by mistake. */
const VAGUE =
  /^$|^text\/(?:html|plain)\b|^application\/(?:octet-stream|unknown|x-unknown-content-type|binary)\b|^unknown|^\*\/\*/;

const SCRIPT_DESTINATIONS: Readonly<Record<string, ContentKind>> = {
  script: 'script',
  worker: 'worker',
  sharedworker: 'worker',
  audioworklet: 'module',
  paintworklet: 'module',
};

const MODIFIER_KINDS: Readonly<Partial<Record<Modifier, ContentKind>>> = {
  js_: 'script',
  esm_: 'module',
  cs_: 'css',
  wkr_: 'worker',
  wkrm_: 'module-worker',
};

export type ContentFacts = {
  /** Bare media type in lower case; empty if unknown. */
  readonly mime: string;
  readonly modifier: Modifier;
  /** `Sec-Fetch-Dest`, if the browser sends it. */
  readonly destination: string | undefined;
  /** Whether a script fetches the payload with `fetch` or XMLHttpRequest. */
  readonly isForScript: boolean;
};

/** How much of the start of a payload the decision examines. */
const SNIFF_BYTES = 1024;

export function contentKind(facts: ContentFacts, start: Uint8Array): ContentKind {
  const { mime, modifier, destination, isForScript } = facts;
  if (modifier === 'id_') return 'bytes';
  const wanted = wantedKind(modifier, destination);
  if (wanted !== undefined && (VAGUE.test(mime) || kindOfMime(mime, start) === wanted || isScriptKind(wanted))) {
    const isData = isScriptKind(wanted) && ((JSON_TYPE.test(mime) && !beginsCall(start)) || beginsTag(start));
    if (!isData && !isForScript) return wanted;
  }
  const kind = kindOfMime(mime, start);
  if (isForScript || modifier === 'wkrf_') return kind === 'hls' || kind === 'dash' ? kind : 'bytes';
  if (destination === 'image' && kind === 'svg') return 'bytes';
  return kind;
}

function wantedKind(modifier: Modifier, destination: string | undefined): ContentKind | undefined {
  // A module imports a style sheet `with { type: 'css' }`; the module of a worker imports another module.
  if (modifier === 'esm_' && destination === 'style') return 'css';
  if (modifier === 'wkrf_' && (destination === 'worker' || destination === 'sharedworker')) return 'worker-import';
  const byModifier = MODIFIER_KINDS[modifier];
  if (byModifier !== undefined) return byModifier;
  if (destination === undefined) return undefined;
  if (destination === 'style') return 'css';
  return Object.hasOwn(SCRIPT_DESTINATIONS, destination) ? SCRIPT_DESTINATIONS[destination] : undefined;
}

function isScriptKind(kind: ContentKind): boolean {
  return SCRIPT_KINDS.has(kind);
}

function kindOfMime(mime: string, start: Uint8Array): ContentKind {
  if (HTML.test(mime)) return 'html';
  if (mime === 'text/css') return 'css';
  if (SCRIPT.test(mime)) return 'script';
  if (XHTML.test(mime)) return 'xhtml';
  if (mime === 'image/svg+xml') return 'svg';
  if (HLS.test(mime)) return 'hls';
  if (mime === 'application/dash+xml') return 'dash';
  if (mime === 'application/manifest+json') return 'manifest';
  if (mime === '' && looksLikeHtml(start)) return 'html';
  return 'bytes';
}

function beginning(start: Uint8Array): string {
  return fromLatin1(start, 0, Math.min(start.length, SNIFF_BYTES)).replace(/^(?:\xef\xbb\xbf)?\s+|^\xef\xbb\xbf/, '');
}

/** Whether a text begins with a tag or a doctype. Scripts may begin with `<!--`. */
function beginsTag(start: Uint8Array): boolean {
  return /^<(?:!doctype|[a-z?])/i.test(beginning(start));
}

/** Whether JSON is the argument of a function call (JSONP), as servers long sent it: `callback({"a":1})`. */
function beginsCall(start: Uint8Array): boolean {
  return /^(?:\/\*.{0,80}?\*\/\s*)?(?:typeof\s|[a-z_$][\w$.]*\s*\()/i.test(beginning(start));
}

function looksLikeHtml(start: Uint8Array): boolean {
  return /^<(?:!doctype html|html|head|body|title|script|style|table|a|div|p|h1|iframe|font|br|b|!--)[\s>]/i.test(
    beginning(start),
  );
}
