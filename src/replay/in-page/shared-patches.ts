/**
 * Functions that the scripts of replay share, in pages and in workers, as text: what wombat leaves undone in both.
 * Plain JavaScript for any browser that runs wombat.
 */
export const SHARED_PATCHES = `
  // Fields of the original that must not act again are sent under another name; the page's own scripts find them under
  // theirs.
  var KEPT = 'x-archive-orig-';

  function isCookie(name) {
    return /^set-cookie2?$/i.test(name);
  }

  function originalFields(sent) {
    var fields = new Map();
    sent.forEach(function (value, name) {
      if (/^content-(?:type|length|range|language|disposition)$/.test(name) && !fields.has(name)) fields.set(name, value);
      var original = name.startsWith(KEPT) ? name.slice(KEPT.length) : '';
      if (original !== '' && !isCookie(original)) fields.set(original, value);
    });
    return fields;
  }

  function isReplayed(sent) {
    return sent.has('memento-datetime');
  }

  function giveBackFields() {
    var headersOf = Object.getOwnPropertyDescriptor(Response.prototype, 'headers').get;
    var known = new WeakMap();
    Object.defineProperty(Response.prototype, 'headers', {
      configurable: true,
      enumerable: true,
      get: function () {
        var sent = headersOf.call(this);
        if (!isReplayed(sent)) return sent;
        if (!known.has(sent)) known.set(sent, new Headers(Array.from(originalFields(sent))));
        return known.get(sent);
      }
    });
    if (!self.XMLHttpRequest) return;
    var asked = XMLHttpRequest.prototype;
    var fieldOf = asked.getResponseHeader;
    var allFields = asked.getAllResponseHeaders;
    asked.getResponseHeader = function getResponseHeader(name) {
      var kept = isCookie(name) ? null : fieldOf.call(this, KEPT + name);
      return kept === null ? fieldOf.call(this, name) : kept;
    };
    asked.getAllResponseHeaders = function getAllResponseHeaders() {
      var text = allFields.call(this);
      var sent = new Headers(text.split('\\r\\n').filter(Boolean).map(function (line) {
        var colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }));
      if (!isReplayed(sent)) return text;
      return Array.from(originalFields(sent)).sort().map(function (field) { return field[0] + ': ' + field[1] + '\\r\\n'; }).join('');
    };
  }

  // Caches outlast the page, and hold what the page would ask the archive for. Here they hold nothing.
  function forgetCaches(win) {
    if (!win.CacheStorage) return;
    var held = { match: undefined, matchAll: [], add: undefined, addAll: undefined, put: undefined, delete: false, keys: [] };
    Object.keys(held).forEach(function (name) {
      win.Cache.prototype[name] = function () { return Promise.resolve(held[name]); };
    });
    var names = new Set();
    var storage = win.CacheStorage.prototype;
    var open = storage.open;
    storage.open = function (name) { names.add(String(name)); return open.call(this, 'pinakes'); };
    storage.has = function (name) { return Promise.resolve(names.has(String(name))); };
    storage.delete = function (name) { return Promise.resolve(names.delete(String(name))); };
    storage.keys = function () { return Promise.resolve(Array.from(names)); };
    storage.match = function () { return Promise.resolve(undefined); };
  }

  // What windows and workers of one site tell each other, and what they wait for, is no concern of other sites and
  // times.
  function keepApart(win, prefix) {
    var Channel = win.BroadcastChannel;
    if (Channel) {
      var nameOf = Object.getOwnPropertyDescriptor(Channel.prototype, 'name');
      Object.defineProperty(Channel.prototype, 'name', Object.assign({}, nameOf, {
        get: function () { return nameOf.get.call(this).slice(prefix.length); }
      }));
      win.BroadcastChannel = new Proxy(Channel, {
        construct: function (made, values, target) {
          return Reflect.construct(made, values.length > 0 ? [prefix + values[0]] : values, target);
        }
      });
    }
    var locks = win.LockManager && win.LockManager.prototype;
    if (!locks) return;
    var request = locks.request;
    locks.request = function (name) {
      return request.apply(this, [prefix + name].concat(Array.prototype.slice.call(arguments, 1)));
    };
  }

  // Wombat's sockets pretend to be open, and pages wait for what never comes. The browser's own fail, since the policy
  // lets them reach nothing; but some browsers then tell of the error only, and where replay is served by HTTPS one
  // without encryption would be an error of the script.
  function failing(Socket) {
    return Socket && new Proxy(Socket, {
      construct: function (made, values, target) {
        var all = Array.from(values);
        if (all.length > 0) all[0] = String(all[0]).replace(/^\\s*ws:/i, 'wss:');
        var socket = Reflect.construct(made, all, target);
        var isClosed = false;
        socket.addEventListener('close', function () { isClosed = true; });
        socket.addEventListener('error', function () {
          setTimeout(function () { isClosed || socket.dispatchEvent(new CloseEvent('close', { code: 1006 })); });
        });
        return socket;
      }
    });
  }

  // import(), with what else it is given; names without a place are a matter of import maps.
  function importer(linkOf) {
    var withOptions;
    return function (base, specifier, options) {
      try {
        var name = String(specifier);
        var link = /^(?:\\.{0,2}\\/|[a-z][a-z0-9+.-]*:)/i.test(name) ? linkOf(name, base) : name;
        if (options === undefined) return import(link);
        withOptions = withOptions || new Function('link', 'options', 'return import(link, options)');
        return withOptions(link, options);
      } catch (error) {
        return Promise.reject(error);
      }
    };
  }
`;
