/**
 * Selectors by which scripts look for links, `a[href="/about"]`. In the page the links are those of the archive, with the address of the original behind a
 * time; a selector finds them by that address too. Text of functions for the script of pages.
 */
export const SELECTOR_MENDS = `
  function mendSelectors(methods) {
    var OF_LINK = /\\[\\s*(href|src|action|poster)\\s*(\\^?=)\\s*(?:"([^"\\\\]+)"|'([^'\\\\]+)'|([\\w-]+))(\\s+[is])?\\s*\\]/gi;

    // The address that a link means, or how addresses of such links begin; nothing where they stay as they are.
    function meant(link, isWhole, base) {
      if (/^(?:#|(?!https?:)[a-z][a-z0-9+.-]*:)/i.test(link) || (!isWhole && /^(?:\\/|https?:?\\/{0,2}|[.?].*)$/i.test(link))) return '';
      try {
        var address = new URL(link, base).href;
        return /[/?#]$/.test(link) || isWhole ? address : address.replace(/\\/$/, '');
      } catch (error) {
        return '';
      }
    }

    methods.initQuerySelectorOverride = function () {
      var wombat = this;
      var win = this.$wbwindow;
      function mended(selector) {
        var text = String(selector);
        if (text.indexOf('=') < 0) return text;
        return text.replace(OF_LINK, function (all, name, how, double, single, bare, flag) {
          var address = meant(double || single || bare, how === '=', win.document.baseURI);
          if (!address) return all;
          return ':is(' + all + ',[' + name + (how === '=' ? '$=' : '*=') + '"_/' + address + '"' + (flag || '') + '])';
        });
      }
      function mend(owner, names) {
        names.forEach(function (name) {
          var find = owner && owner.prototype[name];
          if (!find) return;
          var finding = function (selector) {
            var self = wombat.proxyToObj(this);
            return arguments.length === 0 ? find.call(self) : find.call(self, mended(selector));
          };
          Object.defineProperty(finding, 'name', { value: name });
          owner.prototype[name] = finding;
        });
      }
      mend(win.Document, ['querySelector', 'querySelectorAll']);
      mend(win.DocumentFragment, ['querySelector', 'querySelectorAll']);
      mend(win.Element, ['querySelector', 'querySelectorAll', 'matches', 'webkitMatchesSelector', 'closest']);
    };
  }
`;
