/**
 * The script that prepares a replayed page before any script of its own runs. It starts wombat and takes away what
 * would reach outside of the page or outlast it. It is a courtesy to pages, not the wall around them: that is what the
 * policies are for.
 */
import { SHARED_PATCHES } from './shared-patches.ts';
import { WOMBAT_PATCHES } from './wombat-patches.ts';

/** Served as `pinakes-replay.js`; plain JavaScript for any browser that runs wombat. */
export const PAGE_SCRIPT = `(function () {
  'use strict';
${SHARED_PATCHES}${WOMBAT_PATCHES}
  // Cookies would go to every port of the host, so a page's cookies live as long as the page.
  function keepCookiesHere() {
    var jar = new Map();
    Object.defineProperty(Document.prototype, 'cookie', {
      configurable: true,
      enumerable: true,
      get: function () {
        return Array.from(jar, function (pair) { return pair[0] === '' ? pair[1] : pair[0] + '=' + pair[1]; }).join('; ');
      },
      set: function (text) {
        var parts = String(text).split(';');
        var pair = parts.shift().trim();
        var equals = pair.indexOf('=');
        var name = equals < 0 ? '' : pair.slice(0, equals).trim();
        var isGone = parts.some(function (part) {
          var match = /^\\s*(max-age|expires)\\s*=\\s*(.*?)\\s*$/i.exec(part);
          if (!match) return false;
          if (match[1].toLowerCase() === 'max-age') return Number(match[2]) <= 0;
          return Date.parse(match[2].replace(',|', ',')) < Date.now();
        });
        if (isGone) jar.delete(name);
        else if (jar.size < 200) jar.set(name, (equals < 0 ? pair : pair.slice(equals + 1)).trim().slice(0, 4096));
      }
    });
    try { delete self.cookieStore; } catch (error) {}
    try { Object.defineProperty(self, 'cookieStore', { value: undefined, configurable: true }); } catch (error) {}
  }

  function refuseServiceWorkers() {
    if (!self.ServiceWorkerContainer) return;
    self.ServiceWorkerContainer.prototype.register = function () {
      return Promise.reject(new DOMException('Archived pages have no service workers.', 'SecurityError'));
    };
  }

  function refusePeers() {
    ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport'].forEach(function (name) {
      try { delete self[name]; } catch (error) {}
    });
  }

  // Over plain HTTP browsers do not tell that a script asks, and what it asks for would be answered as a page. Wombat
  // tells it of XMLHttpRequest only.
  function tellWhoAsks() {
    if (self.isSecureContext || !self.fetch) return;
    var ask = self.fetch;
    self.fetch = function fetch(input, init) {
      var isRequest = input instanceof self.Request && !(init && init.headers);
      var fields = isRequest ? input.headers : new Headers(init && init.headers);
      fields.set('X-Pywb-Requested-With', 'XMLHttpRequest');
      return ask.call(self, input, isRequest ? init : Object.assign({}, init, { headers: fields }));
    };
  }

  function removeOwnElements() {
    var own = document.currentScript;
    for (var count = 0; own && count < 3; count++) {
      var before = own.previousSibling;
      own.parentNode.removeChild(own);
      own = before && before.nodeName.toLowerCase() === 'script' && /^(?:https?:\\/\\/[^/]*)?\\/static\\//.test(before.getAttribute('src')) ? before : null;
    }
  }

  self.pinakesReplay = function (info) {
    removeOwnElements();
    delete self.pinakesReplay;
    self.wbinfo = info;
    keepCookiesHere();
    refuseServiceWorkers();
    refusePeers();
    tellWhoAsks();
    // What a script assigns to: the page's location, or a variable of that name, which is no business of ours.
    self.__pinakes_location = function (get) {
      var found;
      try { found = get(); } catch (error) { return {}; }
      return (self.__WB_check_loc && self.__WB_check_loc(found)) || {};
    };
    if (!self._WBWombatInit) return;
    patchWombat(self._WBWombat.prototype);
    self._WBWombatInit(info);
    giveBackFields();
  };
})();
`;
