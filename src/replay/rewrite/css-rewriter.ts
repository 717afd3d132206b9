/**
 * Rewrites the links of style sheets: `url()`, `src()`, `@import`, and the strings of `image-set()`. It reads the
 * tokens of the CSS standard, into which any text can be split, so broken rules do not matter. Everything but the links
 * stays as it is, byte for byte.
 *
 * Selectors of absolute links, `a[href^="https://example.org"]`, become selectors of links of the archive, which
 * contain the URL after a time: `a[href*="_/https://example.org"]`. Selectors of links from the root of a site,
 * `a[href^="/blog"]`, mean the site of the style sheet.
 */
import { string, tokenize, tokenTypes, url } from 'css-tree';
import type { LinkRewriter } from './link-rewriter.ts';
import type { Modifier } from './modifier.ts';

/** Texts without any of these have no links. A backslash may hide one. */
const HAS_LINKS = /url|@import|image-set|src\s*\(|\[\s*(?:href|src)\b|\\/i;

export function rewriteCss(text: string, links: LinkRewriter): string {
  if (!HAS_LINKS.test(text)) return text;
  let rewritten = '';
  let from = 0;
  /** The at-rule whose prelude the tokens belong to. */
  let rule = '';
  const functions: string[] = [];
  const put = (start: number, end: number, replacement: string | undefined) => {
    if (replacement === undefined) return;
    rewritten += text.slice(from, start) + replacement;
    from = end;
  };
  const modifier = (): Modifier => (rule === '@import' ? 'cs_' : 'oe_');
  tokenize(text, (type, start, end) => {
    switch (type) {
      case tokenTypes.AtKeyword:
        rule = plainName(text.slice(start, end));
        break;
      case tokenTypes.Semicolon:
      case tokenTypes.LeftCurlyBracket:
      case tokenTypes.RightCurlyBracket:
        rule = '';
        functions.length = 0;
        break;
      case tokenTypes.Url:
        if (!isName(rule)) put(start, end, rewrittenUrl(text.slice(start, end), links, modifier()));
        break;
      case tokenTypes.Function:
        if (functions.length < DEPTH_MAX) functions.push(plainName(text.slice(start, end - 1)));
        break;
      case tokenTypes.LeftParenthesis:
        if (functions.length < DEPTH_MAX) functions.push('');
        break;
      case tokenTypes.RightParenthesis:
        functions.pop();
        break;
      case tokenTypes.String: {
        const selector = SELECTOR.exec(text.slice(Math.max(0, start - SELECTOR_CHARACTERS_MAX), start));
        if (selector) {
          const [all, name, operator, space] = selector as unknown as [string, string, string, string];
          const archived = archivedSelector(string.decode(text.slice(start, end)), operator, links);
          if (!archived) break;
          const at = start - space.length - operator.length;
          if (name.toLowerCase() === 'href') put(start - all.length, start - all.length, archived.guard);
          put(at, at + operator.length, operator === '=' ? '$=' : '*=');
          put(start, end, string.encode(archived.part));
          break;
        }
        if (isName(rule) || !takesLink(functions.at(-1), rule)) break;
        const link = links.rewrite(string.decode(text.slice(start, end)), modifier());
        if (link !== undefined) put(start, end, string.encode(link));
        break;
      }
    }
  });
  return from === 0 ? text : rewritten + text.slice(from);
}

const DEPTH_MAX = 64;
/** The text before the value in a selector of links. */
const SELECTOR = /\[\s*(href|src)\s*(\^?=)(\s*)$/i;
/**
 * Absolute links begin with the origin of replay; links of the site itself begin with a slash. `:where` does not change
 * the specificity.
 */
const ABSOLUTE_LINK = ':where([href^="http"])';
const SITE_LINK = ':where(:not([href^="http"]))';
const SELECTOR_CHARACTERS_MAX = 40;

/**
 * The part of a link of the archive that replaces the value of a selector, and a selector to put before it; undefined
 * if the selector stays as it is.
 */
function archivedSelector(
  value: string,
  operator: string,
  links: LinkRewriter,
): { guard: string; part: string } | undefined {
  if (/^https?:/i.test(value)) return { guard: operator === '=' ? '' : ABSOLUTE_LINK, part: `_/${value}` };
  // In replay all links of a site also begin with a slash.
  if (!value.startsWith('/') || (operator === '^=' && /^\/\/?$/.test(value))) return undefined;
  // The same link as in the page. The underscore ends the modifier, so the part begins there.
  const link = links.rewrite(value, 'mp_');
  return link === undefined ? undefined : { guard: SITE_LINK, part: link.slice(link.indexOf('_/')) };
}

function plainName(name: string): string {
  const lower = name.toLowerCase();
  return lower.includes('\\') ? unescaped(lower) : lower;
}

function unescaped(name: string): string {
  return name
    .replace(/\\([0-9a-f]{1,6})\s?/g, (_, hex: string) =>
      String.fromCodePoint(Math.min(Number.parseInt(hex, 16), 0x10ffff)),
    )
    .replaceAll('\\', '')
    .toLowerCase();
}

/** Rules whose URL is a name and is never loaded. */
function isName(rule: string): boolean {
  return rule === '@namespace' || rule === '@document' || rule === '@-moz-document';
}

/** Whether a string here is a link: in `url("...")`, in `image-set("..." 1x)`, or directly after `@import`. */
function takesLink(inFunction: string | undefined, rule: string): boolean {
  if (inFunction === undefined) return rule === '@import';
  return inFunction === 'url' || inFunction === 'src' || inFunction.endsWith('image-set');
}

function rewrittenUrl(token: string, links: LinkRewriter, modifier: Modifier): string | undefined {
  const link = links.rewrite(url.decode(token), modifier);
  return link === undefined ? undefined : url.encode(link);
}
