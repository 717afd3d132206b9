/**
 * The scripts that prepare a worker before any of its own runs: wombat's part for workers, with what that leaves
 * undone. A worker is to see the addresses of the original, as a page does.
 */
import { SHARED_PATCHES } from './shared-patches.ts';

/** Put behind wombat's own script; a worker is ready once it has made a `WBWombat`. */
export const WORKER_PATCHES = `
(function () {
  'use strict';
  var Wombat = self.WBWombat;
  var place = self.location;
${SHARED_PATCHES}
  // The address of the original in one of replay; others stay as they are.
  function originalOf(link, prefix) {
    return link.startsWith(prefix) ? link.slice(prefix.length).replace(/^\\d*[a-z]*_?\\//, '') : link;
  }

  function patchLocation(info) {
    var owner = new URL(info.originalURL);
    var isBlob = place.protocol === 'blob:';
    var href = isBlob ? 'blob:' + owner.origin + place.pathname.slice(place.origin.length) : originalOf(place.href, info.prefix);
    var parsed = new URL(href);
    var location = Object.create(WorkerLocation.prototype);
    ['href', 'protocol', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'].forEach(function (name) {
      Object.defineProperty(location, name, { value: parsed[name], enumerable: true });
    });
    var origin = isBlob ? owner.origin : parsed.origin;
    Object.defineProperty(location, 'origin', { value: origin, enumerable: true });
    Object.defineProperty(location, 'toString', { value: function toString() { return href; } });
    Object.defineProperty(self, 'location', { get: function () { return location; }, enumerable: true, configurable: true });
    Object.defineProperty(self, 'origin', { value: origin, enumerable: true, configurable: true });
  }

  function patchAddress(owner, name, prefix) {
    var address = owner && Object.getOwnPropertyDescriptor(owner.prototype, name);
    if (!address) return;
    Object.defineProperty(owner.prototype, name, {
      configurable: true,
      enumerable: true,
      get: function () { return originalOf(address.get.call(this), prefix); }
    });
  }

  // Under the names that they have in the page: those of its time and of its site.
  function patchDatabases(info) {
    var stamp = /\\/web\\/(\\d*)/.exec(place.protocol === 'blob:' ? info.prefixMod : place.href)[1];
    var prefix = 'wb-' + stamp + '-' + new URL(info.originalURL).origin + '-';
    keepApart(self, prefix);
    forgetCaches(self);
    var factory = self.IDBFactory && self.IDBFactory.prototype;
    if (!factory) return;
    ['open', 'deleteDatabase'].forEach(function (name) {
      var own = factory[name];
      factory[name] = function (database, version) { return own.call(this, prefix + database, version); };
    });
    var databases = factory.databases;
    factory.databases = function () {
      return databases.call(this).then(function (all) {
        return all.filter(function (one) { return one.name.startsWith(prefix); }).map(function (one) {
          return { name: one.name.slice(prefix.length), version: one.version };
        });
      });
    };
  }

  function patchWorkers(wombat) {
    var Inner = self.Worker;
    if (!Inner) return;
    self.Worker = function Worker(url, options) {
      var modifier = options && options.type === 'module' ? 'wkrm_/' : 'wkr_/';
      var link = wombat.rewriteURL(String(url));
      return new Inner(link.startsWith(wombat.prefixMod) ? link.replace('wkrf_/', modifier) : link, options);
    };
    self.Worker.prototype = Inner.prototype;
  }

  self.WBWombat = function WBWombat(info) {
    var Socket = self.WebSocket;
    var wombat = new Wombat(info);
    self.WebSocket = failing(Socket);
    patchLocation(info);
    patchAddress(self.Response, 'url', info.prefix);
    patchAddress(self.Request, 'url', info.prefix);
    patchAddress(self.XMLHttpRequest, 'responseURL', info.prefix);
    patchDatabases(info);
    patchWorkers(wombat);
    giveBackFields();
    self.____wb_rewrite_import__ = importer(function (name, base) { return wombat.rewriteURL(new URL(name, base).href); });
    return wombat;
  };
})();
`;

/**
 * The first import of a module worker, so that the modules it goes on to import find the worker ready. Its address
 * tells what the worker is.
 */
export const MODULE_WORKER_SCRIPT = `import './wombatWorkers.js';
const [, prefix, stamp, originalURL] = /^([^/]+\\/\\/[^/]+\\/web\\/)(\\d*)[a-z]*_?\\/(.*)$/s.exec(self.location.href);
new self.WBWombat({ prefix, prefixMod: prefix + stamp + 'wkrf_/', originalURL });
`;
