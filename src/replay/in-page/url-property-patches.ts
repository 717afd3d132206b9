/** Patches URLs that scripts read and write as properties of links, the location, images and the history. */
import { wrapGetter } from './property.ts';
import type { Noted, Wombat } from './wombat.ts';

export function patchUrlProperties(methods: Wombat): void {
  patchPartSetters(methods);
  patchPartGetters(methods);
  patchReferrer(methods);
  patchMoreProperties(methods);
  hideTopFrame(methods);
}

/**
 * When a script sets one part of a URL, wombat takes the other parts from the URL of the page. It also ignores a value
 * that is set a second time, even if the URL has changed in between.
 */
function patchPartSetters(methods: Wombat): void {
  const makeSetter = methods.makeSetLocProp;
  methods.makeSetLocProp = function (this: Wombat, part, setter, getter) {
    const wombat = this;
    const own = `_${part === 'maybeHref' ? 'href' : part}`;
    const set = makeSetter.call(this, part, setter, function (name) {
      return getter.call(this, name || 'href');
    });
    return function (this: Noted & Record<string, unknown>, value) {
      if (this._no_rewrite) {
        set.call(this, value);
        return;
      }
      this[own] = undefined;
      const base = (this.ownerDocument || wombat.$wbwindow.document).baseURI;
      set.call(this, own === '_href' ? absoluteUrl(wombat, value, base) : value);
      // The next read returns the URL as the browser resolved it.
      this._orig_href = undefined;
    };
  };
}

/** Wombat resolves a relative URL against the former value of the link or location; browsers use the base URL. */
function absoluteUrl(wombat: Wombat, value: unknown, base: string): unknown {
  if (typeof value !== 'string' || /^\s*[a-z][a-z0-9+.-]*:/i.test(value)) return value;
  try {
    return new wombat.URL(value, base).href;
  } catch {
    return value;
  }
}

function patchPartGetters(methods: Wombat): void {
  const makeGetter = methods.makeGetLocProp;
  methods.makeGetLocProp = function (this: Wombat, part, getter) {
    const wombat = this;
    const get = makeGetter.call(this, part, getter);
    // Pages compare the origin of messages. In a frame without a URL wombat returns 'null' instead of the page's
    // origin.
    if (part === 'origin') {
      return function () {
        const origin = get.call(this);
        const isBlank = !this.ownerDocument && /^about:/.test(wombat.$wbwindow.location.href);
        return origin === 'null' && isBlank ? wombat.wb_orig_origin : origin;
      };
    }
    if (part !== 'href') return get;
    // Wombat returns the URL as the page wrote it, such as http://example.org without a slash.
    return function () {
      const url = get.call(this);
      if (!/^https?:/i.test(url)) return url;
      try {
        return new wombat.URL(url).href;
      } catch {
        return url;
      }
    };
  };
}

/** Wombat returns no referrer in the frame of replay. A page that was reached by a link has one. */
function patchReferrer(methods: Wombat): void {
  methods.overrideReferrer = function (this: Wombat, document) {
    const wombat = this;
    const read = this.getOrigGetter(document, 'referrer');
    if (!read) return;
    this.defGetterProp(document, 'referrer', function () {
      const referrer = read.call(wombat.proxyToObj(this));
      return referrer.indexOf(wombat.wb_info.prefix) === 0 ? wombat.extractOriginalURL(referrer) : '';
    });
  };
}

function patchMoreProperties(methods: Wombat): void {
  const prepare = methods.initAttrOverrides;
  methods.initAttrOverrides = function (this: Wombat) {
    prepare.call(this);
    const win = this.$wbwindow;
    // Wombat restores only the first of several URLs in a `srcset`.
    const withoutPrefixes = (text: string) => text.replace(this.wb_unrewrite_rx, '');
    wrapGetter(win.HTMLImageElement, 'srcset', withoutPrefixes);
    wrapGetter(win.HTMLSourceElement, 'srcset', withoutPrefixes);
    // Wombat does not patch the following properties.
    const original = (url: string) => this.extractOriginalURL(url);
    wrapGetter(win.HTMLImageElement, 'currentSrc', original);
    wrapGetter(win.HTMLMediaElement, 'currentSrc', original);
    wrapGetter(win.HashChangeEvent, 'oldURL', original);
    wrapGetter(win.HashChangeEvent, 'newURL', original);
    const originalOfPrefixed = (url: string | null) =>
      url && url.indexOf(this.wb_info.prefix) === 0 ? this.extractOriginalURL(url) : url;
    wrapGetter(win.NavigationHistoryEntry, 'url', originalOfPrefixed);
    wrapGetter(win.NavigationDestination, 'url', originalOfPrefixed);
    wrapGetter(win.PerformanceEntry, 'name', originalOfPrefixed);
    wrapGetter(win.ErrorEvent, 'filename', originalOfPrefixed);
    if (!win.Navigation) return;
    const wombat = this;
    const { prototype } = win.Navigation;
    const { navigate } = prototype;
    prototype.navigate = function (url, options) {
      const link = new wombat.URL(url, win.document.baseURI).href;
      return navigate.call(this, wombat.rewriteUrl(link), options);
    };
  };
}

/**
 * Scripts that list the window find `__WB_top_frame`, the window around the frame of replay. Reading it throws an
 * error.
 */
function hideTopFrame(methods: Wombat): void {
  const get = methods.defaultProxyGet;
  methods.defaultProxyGet = function (this: Wombat, object, name, ownNames, functions) {
    return name === '__WB_top_frame' ? undefined : get.call(this, object, name, ownNames, functions);
  };
}
