/**
 * Finds the links of a style sheet: `url()`, `@import`, and strings in `image-set()`. Links to fonts and images have
 * different kinds. It uses the tokenizer of css-tree, so comments and strings are not mistaken for links.
 */
import { tokenize, tokenTypes } from 'css-tree/tokenizer';
import { string, url } from 'css-tree/utils';
import type { LinkCollector, LinkKind } from '../link.ts';

/** How many characters of a style sheet are read. */
const CSS_LENGTH_MAX = 16 * 1024 * 1024;

/** A style sheet without any of these has no links. Most style sheets inside pages have none. */
const MAY_HAVE_LINKS = /url\(|src\(|image(?:-set)?\(|@import/i;

/** At-rules whose URL is a name that is never loaded. */
const NAMING_RULES: ReadonlySet<string> = new Set(['@namespace', '@document', '@-moz-document']);

/** Adds the links of a style sheet, or of a list of declarations, to a collector. */
export function collectCssLinks(text: string, links: LinkCollector): void {
  if (!MAY_HAVE_LINKS.test(text)) return;
  if (text.length > CSS_LENGTH_MAX) {
    text = text.slice(0, CSS_LENGTH_MAX);
    links.isTruncated = true;
  }
  const source = text;
  let atRule = '';
  let functionName = '';
  let isPreludeOpen = false;
  tokenize(source, (type, start, end) => {
    if (type === tokenTypes.Url) {
      if (!isPreludeOpen || !NAMING_RULES.has(atRule))
        links.add(url.decode(source.slice(start, end)), kindOf(atRule, isPreludeOpen), true);
    } else if (type === tokenTypes.String) {
      const isImport = isPreludeOpen && atRule === '@import';
      const isName = isPreludeOpen && NAMING_RULES.has(atRule);
      if (isImport || (isUrlFunction(functionName) && !isName)) {
        links.add(string.decode(source.slice(start, end)), kindOf(atRule, isPreludeOpen), true);
      }
      if (isImport) isPreludeOpen = false;
    } else if (type === tokenTypes.Function) {
      functionName = source.slice(start, end - 1).toLowerCase();
    } else if (type === tokenTypes.AtKeyword) {
      atRule = source.slice(start, end).toLowerCase();
      isPreludeOpen = true;
    } else if (type === tokenTypes.RightParenthesis) {
      functionName = '';
    } else if (type === tokenTypes.LeftCurlyBracket) {
      isPreludeOpen = false;
    } else if (type === tokenTypes.RightCurlyBracket || type === tokenTypes.Semicolon) {
      // A semicolon ends an at-rule without a block, or a declaration inside a block.
      if (type === tokenTypes.RightCurlyBracket || isPreludeOpen || atRule === '@import') atRule = '';
      isPreludeOpen = false;
      functionName = '';
    }
  });
}

function isUrlFunction(name: string): boolean {
  return name === 'url' || name === 'src' || name === 'image-set' || name === '-webkit-image-set' || name === 'image';
}

function kindOf(atRule: string, isPreludeOpen: boolean): LinkKind {
  if (atRule === '@import' && isPreludeOpen) return 'style';
  return atRule === '@font-face' ? 'font' : 'image';
}
