/** Decides which attributes of an element change, and their new values. All other attributes stay as they are. */
import { rewriteCss } from './css-rewriter.ts';
import type { LinkRewriter } from './link-rewriter.ts';
import type { Modifier } from './modifier.ts';
import { rewriteScript } from './script-rewriter.ts';
import { rewriteSrcset } from './srcset.ts';

/** The attributes of one element by name, in lower case, with their values as the browser sees them. */
export type Attributes = {
  get(name: string): string | undefined;
};

/** A new value for an attribute, or a new name. */
export type Change = { readonly value: string } | { readonly name: string };

/** The new name of an attribute that must not act in replay begins with this. */
const SET_ASIDE = 'data-archived-';

type Job = (element: string, value: string, attributes: Attributes, links: LinkRewriter) => Change | undefined;

const link =
  (modifier: Modifier): Job =>
  (_, value, __, links) =>
    changed(links.rewrite(value, modifier));

function changed(value: string | undefined): { readonly value: string } | undefined {
  return value === undefined ? undefined : { value };
}

const setAside =
  (name: string): Job =>
  () => ({ name: SET_ASIDE + name });

const JOBS: ReadonlyMap<string, Job> = new Map<string, Job>([
  ['href', rewriteHref],
  ['xlink:href', rewriteHref],
  ['src', rewriteSource],
  ['srcset', (_, value, __, links) => changedSrcset(value, links)],
  ['imagesrcset', (_, value, __, links) => changedSrcset(value, links)],
  ['poster', link('im_')],
  ['background', link('im_')],
  ['lowsrc', link('im_')],
  ['dynsrc', link('im_')],
  ['data', (element, value, _, links) => (element === 'object' ? changed(links.rewrite(value, 'oe_')) : undefined)],
  ['action', (element, value, _, links) => (element === 'form' ? rewriteNavigation(value, links) : undefined)],
  ['formaction', (_, value, __, links) => rewriteNavigation(value, links)],
  ['cite', link('mp_')],
  ['longdesc', link('mp_')],
  ['codebase', link('oe_')],
  ['classid', link('oe_')],
  ['manifest', (element, value, _, links) => (element === 'html' ? changed(links.rewrite(value, 'oe_')) : undefined)],
  ['style', (_, value, __, links) => changedIfOther(value, rewriteCss(value, links))],
  ['ping', setAside('ping')],
  ['attributionsrc', setAside('attributionsrc')],
  ['integrity', setAside('integrity')],
  ['sandbox', (element, value) => (element === 'iframe' ? rewriteSandbox(value) : undefined)],
  ['http-equiv', (element, value) => (element === 'meta' ? rewriteHttpEquiv(value) : undefined)],
  ['content', rewriteContent],
  [
    'charset',
    (element, value) => (element === 'meta' || element === 'script' ? changedIfOther(value, 'utf-8') : undefined),
  ],
  ['value', rewriteParameter],
]);

/** Pages have attributes of their own that are not code: `on-place`. */
const HANDLER = /^on[a-z]+$/;

/** Whether an attribute of this name, in lower case, may change. */
export function isOfInterest(name: string): boolean {
  return JOBS.has(name) || HANDLER.test(name);
}

export function changeOf(
  element: string,
  name: string,
  value: string,
  attributes: Attributes,
  links: LinkRewriter,
): Change | undefined {
  const job = JOBS.get(name);
  if (job) return job(element, value, attributes, links);
  if (HANDLER.test(name)) return changedIfOther(value, rewriteScript(value, 'handler', links));
  return undefined;
}

/** The modifier for links of the most common elements. For these a fast way inserts text before the link. */
export function quickModifier(element: string, name: string): Modifier | undefined {
  if (name === 'href') return element === 'a' || element === 'area' ? 'mp_' : undefined;
  if (name === 'src') return element === 'img' ? 'im_' : undefined;
  return undefined;
}

function changedIfOther(value: string, other: string): Change | undefined {
  return other === value ? undefined : { value: other };
}

function changedSrcset(value: string, links: LinkRewriter): Change | undefined {
  return changedIfOther(
    value,
    rewriteSrcset(value, (url) => links.rewrite(url, 'im_')),
  );
}

const SCRIPT_URL =
  /^[\x00-\x20]*j[\t\n\r]*a[\t\n\r]*v[\t\n\r]*a[\t\n\r]*s[\t\n\r]*c[\t\n\r]*r[\t\n\r]*i[\t\n\r]*p[\t\n\r]*t[\t\n\r]*:/i;

/** A link that a window follows: to a page, or a `javascript:` link with code. */
function rewriteNavigation(
  value: string,
  links: LinkRewriter,
  modifier: Modifier = 'mp_',
): { readonly value: string } | undefined {
  const scheme = SCRIPT_URL.exec(value);
  if (!scheme) return changed(links.rewrite(value, modifier));
  const code = value.slice(scheme[0].length);
  const plain = code.includes('%') ? unescaped(code) : code;
  const rewritten = rewriteScript(plain, 'handler', links);
  return rewritten === plain ? undefined : { value: `javascript:${rewritten.replaceAll('%', '%25')}` };
}

function unescaped(code: string): string {
  try {
    return decodeURIComponent(code);
  } catch {
    return code;
  }
}

const AS_MODIFIERS: Readonly<Record<string, Modifier>> = {
  script: 'js_',
  worker: 'js_',
  style: 'cs_',
  image: 'im_',
  document: 'if_',
  fetch: 'mp_',
};

function rewriteHref(element: string, value: string, attributes: Attributes, links: LinkRewriter): Change | undefined {
  switch (element) {
    case 'a':
    case 'area': {
      const change = rewriteNavigation(value, links);
      return change && { value: links.before(value) + change.value };
    }
    case 'base':
      return changed(links.rewrite(value, 'mp_'));
    case 'link':
      return changed(links.rewrite(value, linkModifier(attributes)));
    case 'image':
    case 'feimage':
      return changed(links.rewrite(value, 'im_'));
    case 'script':
      return changed(links.rewrite(value, scriptModifier(attributes)));
    default:
      return isCustomElement(element) ? undefined : rewriteNavigation(value, links, 'oe_');
  }
}

function linkModifier(attributes: Attributes): Modifier {
  const relations = (attributes.get('rel') ?? '').toLowerCase();
  if (/\bstylesheet\b/.test(relations)) return 'cs_';
  if (/\bmodulepreload\b/.test(relations)) return 'esm_';
  if (/\bicon\b/.test(relations)) return 'im_';
  if (/\b(?:preload|prefetch)\b/.test(relations)) {
    const destination = (attributes.get('as') ?? '').toLowerCase();
    return Object.hasOwn(AS_MODIFIERS, destination) ? AS_MODIFIERS[destination]! : 'oe_';
  }
  return /\bmanifest\b/.test(relations) ? 'oe_' : 'mp_';
}

function scriptModifier(attributes: Attributes): Modifier {
  return (attributes.get('type') ?? '').trim().toLowerCase() === 'module' ? 'esm_' : 'js_';
}

function rewriteSource(
  element: string,
  value: string,
  attributes: Attributes,
  links: LinkRewriter,
): Change | undefined {
  switch (element) {
    case 'img':
    case 'image':
    case 'input':
      return changed(links.rewrite(value, 'im_'));
    case 'script':
      return changed(links.rewrite(value, scriptModifier(attributes)));
    case 'iframe':
    case 'frame':
      return rewriteNavigation(value, links, 'if_');
    default:
      return isCustomElement(element) ? undefined : changed(links.rewrite(value, 'oe_'));
  }
}

/** The scripts that define a custom element read its attributes themselves. */
function isCustomElement(element: string): boolean {
  return element.includes('-') && element !== 'annotation-xml' && !element.startsWith('font-face');
}

/**
 * Wombat, and the scripts that depend on it, cannot work in a frame without an origin. All archived pages share one
 * origin anyway, and the sandbox that keeps them inside is around all of them.
 */
function rewriteSandbox(value: string): Change | undefined {
  return /\ballow-scripts\b/i.test(value) && !/\ballow-same-origin\b/i.test(value)
    ? { value: `${value} allow-same-origin` }
    : undefined;
}

/** Policies and settings of the original must not act in replay. */
function rewriteHttpEquiv(value: string): Change | undefined {
  const isPolicy =
    /^\s*(?:content-security-policy|x-content-security-policy|x-webkit-csp|x-frame-options|set-cookie|x-dns-prefetch-control|accept-ch|delegate-ch|origin-trial|permissions-policy|refresh-to)/i;
  return isPolicy.test(value) ? { name: `${SET_ASIDE}http-equiv` } : undefined;
}

function rewriteContent(
  element: string,
  value: string,
  attributes: Attributes,
  links: LinkRewriter,
): Change | undefined {
  if (element !== 'meta') return undefined;
  const kind = (attributes.get('http-equiv') ?? '').trim().toLowerCase();
  if (kind === 'refresh') return changedIfOther(value, rewriteRefresh(value, links));
  if (kind === 'content-type') return changedIfOther(value, value.replace(/charset\s*=\s*[^\s;]+/i, 'charset=utf-8'));
  return undefined;
}

/** Rewrites `5; url=next.html`, the value of a `meta` element and of the Refresh field. */
export function rewriteRefresh(value: string, links: LinkRewriter): string {
  const trimmed = value.trimEnd();
  const match = /^\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(["']?)/i.exec(trimmed);
  if (!match) return value;
  const start = match[0].length;
  const quote = match[1]!;
  const isClosed = quote !== '' && trimmed.length > start && trimmed.endsWith(quote);
  const end = isClosed ? trimmed.length - 1 : trimmed.length;
  const change = start === end ? undefined : rewriteNavigation(trimmed.slice(start, end), links);
  return change && 'value' in change ? match[0] + change.value + value.slice(end) : value;
}

/** Parameters that name what a plug-in loads. */
function rewriteParameter(
  element: string,
  value: string,
  attributes: Attributes,
  links: LinkRewriter,
): Change | undefined {
  if (element !== 'param') return undefined;
  const name = (attributes.get('name') ?? '').trim().toLowerCase();
  const isLink = /^(?:movie|src|data|url|filename|codebase|archive)$/.test(name);
  return isLink ? changed(links.rewrite(value, 'oe_')) : undefined;
}
