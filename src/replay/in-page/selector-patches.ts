/**
 * Selectors by which scripts look for links, `a[href="/about"]`. In the page the links are those of the archive, with
 * the address of the original behind a time; a selector finds them by that address too. Text of functions for the
 * script of pages.
 */
export const SELECTOR_PATCHES = `
  function patchSelectors(methods) {
    var OF_LINK = /\\[\\s*(href|src|action|poster)\\s*(\\^?=)\\s*(?:"([^"\\\\]+)"|'([^'\\\\]+)'|([\\w-]+))(\\s*i)?\\s*\\]/gi;

    // The addresses that a link means, as the server writes them and as the browser does; none where links stay as they
    // are.
    function meant(link, base) {
      if (/^(?:#|(?!https?:)[a-z][a-z0-9+.-]*:)/i.test(link)) return [];
      try {
        var place = new URL(base);
        var before = /^https?:/i.test(link) ? '' : /^\\/\\//.test(link) ? place.protocol : /^\\//.test(link) ? place.origin : new URL('.', base).href;
        return [before + link, new URL(link, base).href];
      } catch (error) {
        return [];
      }
    }

    function selectorOf(all, name, how, link, flag, base) {
      var isWhole = how === '=';
      // How all links begin is told by how they begin; of relative ones the server has made others.
      if (!isWhole && /^(?:\\/|https?|[.?].*)$/i.test(link)) return all;
      // Links to follow that were whole still are.
      var guard = !isWhole && /^https?:/i.test(link) && /^href$/i.test(name) ? ':is([href^="http"],:not(a,area))' : '';
      var isScheme = guard && /^https?:\\/{0,2}$/i.test(link);
      var addresses = isScheme ? [link] : meant(link, base);
      if (!isWhole && !/[/?#]$/.test(link)) addresses = addresses.map(function (address) { return address.replace(/\\/$/, ''); });
      var found = addresses.map(function (address) {
        return '[' + name + (isWhole ? '$=' : '*=') + '"_/' + address.replace(/"/g, '%22') + '"' + (flag || '') + ']' + guard;
      });
      return found.length > 0 ? ':is(' + (isScheme ? found : [all].concat(found)).join() + ')' : all;
    }

    methods.initQuerySelectorOverride = function () {
      var wombat = this;
      var win = this.$wbwindow;
      function mended(selector) {
        var text = String(selector);
        if (text.indexOf('=') < 0) return text;
        return text.replace(OF_LINK, function (all, name, how, double, single, bare, flag) {
          return selectorOf(all, name, how, double || single || bare, flag, win.document.baseURI);
        });
      }
      // Some libraries use them only while they look like those of the browser, as stand-ins do.
      function mend(owner, names) {
        names.forEach(function (name) {
          if (!owner || !owner.prototype[name]) return;
          owner.prototype[name] = new Proxy(owner.prototype[name], {
            apply: function (find, self, values) {
              return Reflect.apply(find, wombat.proxyToObj(self), values.length > 0 ? [mended(values[0])] : values);
            }
          });
        });
      }
      mend(win.Document, ['querySelector', 'querySelectorAll']);
      mend(win.DocumentFragment, ['querySelector', 'querySelectorAll']);
      mend(win.Element, ['querySelector', 'querySelectorAll', 'matches', 'webkitMatchesSelector', 'closest']);
    };
  }
`;
