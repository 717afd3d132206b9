/**
 * Patches selectors with which scripts look for links, `a[href="/about"]`. Links in a replayed page are links of the
 * archive, which contain the original URL after a time. A patched selector also finds a link by its original URL.
 * Wombat does this only for absolute URLs, and only for selectors of the document.
 */
import { methodsOf } from './property.ts';
import type { Wombat } from './wombat.ts';

const LINK_ATTRIBUTE = /\[\s*(href|src|action|poster)\s*(\^?=)\s*(?:"([^"\\]+)"|'([^'\\]+)'|([\w-]+))(\s*i)?\s*\]/gi;

export function patchSelectors(methods: Wombat): void {
  methods.initQuerySelectorOverride = function (this: Wombat) {
    const wombat = this;
    const win = this.$wbwindow;
    const patched = (selector: unknown) => withArchiveLinks(String(selector), win.document);
    function patch(owner: { readonly prototype: object }, names: readonly string[]): void {
      const queries = methodsOf(owner.prototype);
      for (const name of names) {
        const query = queries[name];
        if (!query) continue;
        // Some libraries use these methods only if they look like those of the browser, as a Proxy does.
        queries[name] = new Proxy(query, {
          apply: (find, self, values) =>
            Reflect.apply(find, wombat.proxyToObj(self), values.length > 0 ? [patched(values[0])] : values),
        });
      }
    }
    patch(win.Document, ['querySelector', 'querySelectorAll']);
    patch(win.DocumentFragment, ['querySelector', 'querySelectorAll']);
    patch(win.Element, ['querySelector', 'querySelectorAll', 'matches', 'webkitMatchesSelector', 'closest']);
  };
}

function withArchiveLinks(selector: string, document: Document): string {
  if (selector.indexOf('=') < 0) return selector;
  return selector.replace(LINK_ATTRIBUTE, (all, name, operator, double, single, bare, flag) =>
    attributeSelector(all, name, operator === '=', double || single || bare, flag || '', document.baseURI),
  );
}

function attributeSelector(
  all: string,
  name: string,
  isWhole: boolean,
  link: string,
  flag: string,
  base: string,
): string {
  // Links of the archive also begin with `/` or `http`. The server has resolved relative links, which begin with `.` or
  // `?`.
  if (!isWhole && /^(?:\/|https?|[.?].*)$/i.test(link)) return all;
  // Absolute links that a reader can follow are still absolute.
  const guard = !isWhole && /^https?:/i.test(link) && /^href$/i.test(name) ? ':is([href^="http"],:not(a,area))' : '';
  const isScheme = guard !== '' && /^https?:\/{0,2}$/i.test(link);
  let urls = isScheme ? [link] : absoluteUrls(link, base);
  if (!isWhole && !/[/?#]$/.test(link)) urls = urls.map((url) => url.replace(/\/$/, ''));
  if (urls.length === 0) return all;
  const found = urls.map((url) => `[${name}${isWhole ? '$=' : '*='}"_/${url.replace(/"/g, '%22')}"${flag}]${guard}`);
  return `:is(${(isScheme ? found : [all, ...found]).join()})`;
}

/** The absolute URL of a link, as the server and as the browser writes it; empty for a link that stays as it is. */
function absoluteUrls(link: string, base: string): string[] {
  if (/^(?:#|(?!https?:)[a-z][a-z0-9+.-]*:)/i.test(link)) return [];
  try {
    return [startOfUrl(link, new URL(base)) + link, new URL(link, base).href];
  } catch {
    return [];
  }
}

/** The start of the absolute URL, which the link leaves out. */
function startOfUrl(link: string, base: URL): string {
  if (/^https?:/i.test(link)) return '';
  if (/^\/\//.test(link)) return base.protocol;
  return /^\//.test(link) ? base.origin : new URL('.', base).href;
}
