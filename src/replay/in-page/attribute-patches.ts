/**
 * Rewrites attributes that scripts set, on elements that they create and in HTML that they write: the code of handlers
 * and of `javascript:` links, the URL of a refresh, and the `formaction` of a button. Wombat does not rewrite these.
 * The server rewrites them in the HTML of the page itself.
 */
import { wrapGetter } from './property.ts';
import type { Noted, Wombat } from './wombat.ts';

/** Names of the attributes that may need rewriting. */
const REWRITTEN = /^(?:on[a-z]+|formaction|content|href|src|action)$/i;
const ORIGINALS_MAX = 1000;
/** Matches an attribute with rewritten code in HTML that the browser serialized. */
const REWRITTEN_CODE = /="((?:javascript:)?var _____WB\$wombat\$assign\$function_____ = [^"]*)"/g;
const UNESCAPED: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&nbsp;': '\xa0',
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
};

export function patchAttributes(methods: Wombat): void {
  // Originals by rewritten value, so that a page reads back the value that it wrote.
  const originals = new Map<string | null, string>();
  const remember = (rewritten: string, original: string) => {
    if (originals.size >= ORIGINALS_MAX) originals.clear();
    if (rewritten !== original) originals.set(rewritten, original);
    return rewritten;
  };
  patchScriptLinks(methods, remember);
  patchWrittenAttributes(methods, remember);
  patchReadValues(methods, originals);
}

type Remember = (rewritten: string, original: string) => string;

function patchScriptLinks(methods: Wombat, remember: Remember): void {
  const rewriteUrl = methods.rewriteUrl;
  methods.rewriteUrl = function (this: Wombat, url, isRelative, modifier, document) {
    const link = typeof url === 'string' && /^\s*javascript:([\s\S]*)$/i.exec(url);
    if (!link) return rewriteUrl.call(this, url, isRelative, modifier, document);
    try {
      const code = decodeURIComponent(link[1]!);
      const rewritten = rewrittenCode(this, code);
      if (rewritten === code) return url;
      // Browsers remove line ends from a link, and a comment in the code would then not end.
      return remember(`javascript:${rewritten.replace(/%/g, '%25').replace(/\n/g, '%0A')}`, url);
    } catch {
      return url;
    }
  };
}

function rewrittenCode(wombat: Wombat, code: string): string {
  const declared: string[] = [];
  return wombat.skipWrapScriptTextBasedOnText(code, declared) ? code : wombat.wrapScriptTextJsProxy(code, declared);
}

function patchWrittenAttributes(methods: Wombat, remember: Remember): void {
  function valueFor(wombat: Wombat, element: Element, name: string, value: string): string {
    if (!REWRITTEN.test(name)) return value;
    if (isHandler(element, name)) return remember(rewrittenCode(wombat, value), value);
    if (/^formaction$/i.test(name)) return wombat.rewriteUrl(value);
    if (/^content$/i.test(name) && element.localName === 'meta') {
      return remember(rewrittenRefresh(wombat, element, value), value);
    }
    const isScriptLink = /^(?:href|src|action)$/i.test(name) && /^\s*javascript:/i.test(value);
    return isScriptLink ? wombat.rewriteUrl(value) : value;
  }

  const rewriteElem = methods.rewriteElem;
  methods.rewriteElem = function (this: Wombat, element) {
    let isChanged = rewriteElem.call(this, element);
    if (!element?.setAttribute || element._no_rewrite) return isChanged;
    // A form may have a field with the name of this method, which hides the method.
    const names = this.$wbwindow.Element.prototype.getAttributeNames.call(element);
    names.forEach((name) => {
      if (!REWRITTEN.test(name)) return;
      const value = this.wb_getAttribute.call(element, name)!;
      const rewritten = valueFor(this, element, name, value);
      if (rewritten === value) return;
      this.wb_setAttribute.call(element, name, rewritten);
      isChanged = true;
    });
    return isChanged;
  };

  const prepare = methods.initElementGetSetAttributeOverride;
  methods.initElementGetSetAttributeOverride = function (this: Wombat) {
    prepare.call(this);
    const wombat = this;
    const { prototype } = this.$wbwindow.Element;
    const set = prototype.setAttribute;
    prototype.setAttribute = function setAttribute(name, value) {
      return set.call(this, name, valueFor(wombat, this, String(name), String(value)));
    };
  };
}

/** Pages have attributes of their own, such as `on-place` and `onward`, that are not code. */
function isHandler(element: Element, name: string): boolean {
  return /^on/i.test(name) && name.toLowerCase() in element;
}

/** Rewrites the URL in the content of a refresh: '5; url=/next'. */
function rewrittenRefresh(wombat: Wombat, element: Element, value: string): string {
  const parts = /^(\s*[\d.]+(?:\s*[;,]|\s)\s*(?:url\s*=\s*)?)(["']?)(\S[\s\S]*?)(\2\s*)$/i.exec(value);
  if (!parts || !/^refresh$/i.test(wombat.wb_getAttribute.call(element, 'http-equiv') ?? '')) return value;
  try {
    const url = new wombat.URL(parts[3]!, document.baseURI).href;
    return `${parts[1]}${parts[2]}${wombat.rewriteUrl(url)}${parts[4]}`;
  } catch {
    return value;
  }
}

function patchReadValues(methods: Wombat, originals: ReadonlyMap<string | null, string>): void {
  const extract = methods.extractOriginalURL;
  methods.extractOriginalURL = function (this: Wombat, url) {
    return (originals.size > 0 && originals.get(url)) || extract.call(this, url);
  };

  const prepareAttributes = methods.initElementGetSetAttributeOverride;
  methods.initElementGetSetAttributeOverride = function (this: Wombat) {
    prepareAttributes.call(this);
    const wombat = this;
    const { prototype } = this.$wbwindow.Element;
    const get = prototype.getAttribute;
    prototype.getAttribute = function getAttribute(name) {
      const value = get.call(this, name);
      if (originals.has(value)) return originals.get(value)!;
      return value !== null && /^formaction$/i.test(name) ? wombat.extractOriginalURL(value) : value;
    };
  };

  const overrideHtmlAssign = methods.overrideHtmlAssign;
  methods.overrideHtmlAssign = function (this: Wombat, owner, name, isRead) {
    overrideHtmlAssign.call(this, owner, name, isRead);
    if (!isRead) return;
    // Elements of wombat itself return the rewritten HTML.
    wrapGetter(owner, name, (html, element: Noted) => (element._no_rewrite ? html : originalHtml(html, originals)));
  };

  const prepareProperties = methods.initAttrOverrides;
  methods.initAttrOverrides = function (this: Wombat) {
    prepareProperties.call(this);
    this.overrideAttr(this.$wbwindow.HTMLButtonElement.prototype, 'formAction', 'mp_');
    this.overrideAttr(this.$wbwindow.HTMLInputElement.prototype, 'formAction', 'mp_');
  };
}

/** The HTML with the page's own code in place of rewritten code. */
function originalHtml(html: unknown, originals: ReadonlyMap<string | null, string>): unknown {
  if (typeof html !== 'string' || originals.size === 0 || html.indexOf('="') < 0) return html;
  return html.replace(REWRITTEN_CODE, (all, escaped: string) => {
    const code = escaped.replace(/&(?:quot|nbsp|lt|gt|amp);/g, (name) => UNESCAPED[name]!);
    const original = originals.get(code);
    if (original === undefined) return all;
    return `="${original.replace(/&/g, '&amp;').replace(/\xa0/g, '&nbsp;').replace(/"/g, '&quot;')}"`;
  });
}
