/**
 * What wombat gets wrong in pages, put right before it starts: its methods are wrapped, so that frames without an
 * address of their own, which it prepares itself, have them too. Text of functions for the script of pages.
 */
import { ADDRESS_PATCHES } from './address-patches.ts';
import { ATTRIBUTE_PATCHES } from './attribute-patches.ts';
import { CODE_PATCHES } from './code-patches.ts';
import { MADE_PATCHES } from './made-patches.ts';
import { SELECTOR_PATCHES } from './selector-patches.ts';
import { WINDOW_PATCHES } from './window-patches.ts';

export const WOMBAT_PATCHES = `${ADDRESS_PATCHES}${ATTRIBUTE_PATCHES}${CODE_PATCHES}${MADE_PATCHES}${SELECTOR_PATCHES}${WINDOW_PATCHES}
  function patchWombat(methods) {
    patchListeners(methods);
    patchDates(methods);
    patchCode(methods);
    patchModules(methods);
    patchStyles(methods);
    patchFrames(methods);
    patchMade(methods);
    patchSockets(methods);
    patchStorage(methods);
    patchAddresses(methods);
    patchAttributes(methods);
    patchSelectors(methods);
    patchWindows(methods);
  }

  // Called as a plain function it means the window. Wombat takes that for no object, and every message to such a
  // listener ends in an error.
  function patchListeners(methods) {
    var prepare = methods.initPostMessageOverride;
    methods.initPostMessageOverride = function (win) {
      var isPrepared = !win.postMessage || win.__orig_postMessage;
      prepare.call(this, win);
      if (isPrepared || !win.EventTarget) return;
      this.overridePropToProxy(win.Event.prototype, 'currentTarget');
      patchMessages(this, win);
      ['addEventListener', 'removeEventListener'].forEach(function (name) {
        var original = win.EventTarget.prototype[name];
        var mended = function (type, listener, options) {
          return original.call(this === undefined || this === null ? win : this, type, listener, options);
        };
        Object.defineProperty(mended, 'name', { value: name });
        win.EventTarget.prototype[name] = mended;
      });
    };
  }

  function patchMessages(wombat, win) {
    // To no origin, or to '/', means the sender's own. A document without an address of its own is of the origin of its
    // page.
    var post = win.postMessage;
    win.postMessage = win.Window.prototype.postMessage = function postMessage(message, to, transfer, fromTop) {
      var options = to && typeof to === 'object' ? to : { targetOrigin: to, transfer: transfer };
      var origin = options.targetOrigin;
      var receiver = wombat.proxyToObj(this) || win;
      if (origin === undefined || origin === '/') origin = (receiver.__WB_source || win).WB_wombat_location.origin;
      if (receiver.location.origin === 'null' && receiver.WB_wombat_location && receiver.WB_wombat_location.origin === origin) origin = '*';
      return post.call(this, message, origin, options.transfer, fromTop);
    };
    // Wombat unpacks no message that is nothing: 0, '', null.
    function unpacking(name, part) {
      var own = Object.getOwnPropertyDescriptor(win.MessageEvent.prototype, name);
      var dataOf = Object.getOwnPropertyDescriptor(win.MessageEvent.prototype, 'data').get;
      Object.defineProperty(win.MessageEvent.prototype, name, Object.assign({}, own, {
        get: function () {
          var packed = dataOf.call(this);
          var isNothing = packed && typeof packed === 'object' && 'from' in packed && 'to_origin' in packed && !packed.message;
          return isNothing ? packed[part] : own.get.call(this);
        }
      }));
    }
    unpacking('origin', 'from');
    unpacking('data', 'message');
  }

  // Called without new it gives a text, it can be extended, and what is given as undefined is given.
  function patchDates(methods) {
    var prepare = methods.initDateOverride;
    methods.initDateOverride = function (timestamp) {
      var win = this.$wbwindow;
      var own = win.Date;
      prepare.call(this, timestamp);
      if (win.Date === own) return;
      var given = win.Date;
      // Pages put one of their own in its place, which may well ask for a new Date.
      var now = given.now;
      win.Date = new Proxy(given, {
        apply: function () { return String(new given()); },
        construct: function (made, values, target) {
          return Reflect.construct(own, values.length > 0 ? values : [now()], target);
        }
      });
      Object.defineProperty(own.prototype, 'constructor', { value: win.Date });
    };
  }

  // Modules that scripts make cannot stand in a block, and data cannot either. import() may have options.
  function patchModules(methods) {
    var STAND_INS = ['window', 'self', 'document', 'location', 'top', 'parent', 'frames', 'opener'];
    var ASSIGN = '_____WB$wombat$assign$function_____';

    function isOther(script) {
      return /^\\s*(?:module|importmap|speculationrules)\\s*$/i.test(script.type);
    }

    function moduleText(wombat, script, text) {
      if (!/^\\s*module\\s*$/i.test(script.type) || text.indexOf(ASSIGN) >= 0) return text;
      var linked = withModuleLinks(wombat, text, 'esm_');
      var names = [];
      if (wombat.skipWrapScriptTextBasedOnText(linked, names)) return linked;
      var declared = STAND_INS.filter(function (name) {
        return names.indexOf(name) < 0 && !new RegExp('\\\\b(?:var|let|const|function|class|import|as)\\\\s+' + name + '\\\\b').test(linked);
      });
      return 'const ' + ASSIGN + '=(name)=>{const w=globalThis._wb_wombat;return(w&&w.local_init&&w.local_init(name))||globalThis[name]};' +
        declared.map(function (name) { return 'let ' + name + '=' + ASSIGN + '("' + name + '");'; }).join('') + linked;
    }

    var rewriteScript = methods.rewriteScript;
    methods.rewriteScript = function (script) {
      if (script.hasAttribute('src') || !isOther(script)) return rewriteScript.call(this, script);
      var text = script.textContent;
      var rewritten = moduleText(this, script, text);
      if (rewritten === text) return false;
      script.textContent = rewritten;
      return true;
    };
    var assign = methods.rewriteHTMLAssign;
    methods.rewriteHTMLAssign = function (element, setter, value) {
      if (element.tagName !== 'SCRIPT' || !isOther(element)) return assign.call(this, element, setter, value);
      setter.call(element, moduleText(this, element, String(value)));
    };
    methods.initImportWrapperFunc = function (win) {
      var wombat = this;
      win.____wb_rewrite_import__ = importer(function (name, base) {
        return wombat.rewriteUrl(new wombat.URL(name, base).href, false, 'esm_');
      });
    };
  }

  // A frame without an origin cannot be replayed. The server gives those of the page one, scripts make others.
  function patchFrames(methods) {
    function withOrigin(value) {
      return /\\ballow-scripts\\b/i.test(value) && !/\\ballow-same-origin\\b/i.test(value) ? value + ' allow-same-origin' : value;
    }
    var prepare = methods.initElementGetSetAttributeOverride;
    methods.initElementGetSetAttributeOverride = function () {
      prepare.call(this);
      var wombat = this;
      var element = this.$wbwindow.Element.prototype;
      var frame = this.$wbwindow.HTMLIFrameElement.prototype;
      var set = element.setAttribute;
      element.setAttribute = function setAttribute(name, value) {
        if (this.localName !== 'iframe') return set.call(this, name, value);
        if (/^sandbox$/i.test(name)) value = withOrigin(String(value));
        if (/^srcdoc$/i.test(name)) value = preparedDocument(wombat, String(value));
        return set.call(this, name, value);
      };
      var sandbox = Object.getOwnPropertyDescriptor(frame, 'sandbox');
      Object.defineProperty(frame, 'sandbox', Object.assign({}, sandbox, {
        get: function () {
          var tokens = sandbox.get.call(this);
          tokens.add = function () {
            Object.getPrototypeOf(tokens).add.apply(tokens, arguments);
            tokens.value = withOrigin(tokens.value);
          };
          return tokens;
        },
        set: function (value) { sandbox.set.call(this, withOrigin(String(value))); }
      }));
    };
  }

  function patchSockets(methods) {
    methods.initWSOverride = function () {
      this.$wbwindow.WebSocket = failing(this.$wbwindow.WebSocket);
    };
    var prepare = methods.initHTTPOverrides;
    methods.initHTTPOverrides = function () {
      var own = this.$wbwindow.EventSource;
      prepare.call(this);
      // Its constants.
      if (own) Object.setPrototypeOf(this.$wbwindow.EventSource, own);
    };
  }

  // A storage holds texts, and pages ask for 'true' and '1'. The one that wombat makes is the same in all its windows.
  function patchStorage(methods) {
    var isMended = false;
    var prepare = methods.initStorageOverride;
    methods.initStorageOverride = function () {
      prepare.call(this);
      if (isMended) return;
      isMended = true;
      var storage = this.$wbwindow.Storage.prototype;
      var set = storage.setItem;
      storage.setItem = function setItem(name, value) { return set.call(this, name, String(value)); };
    };
    // Databases outlast the page, and one capture would show what a later one put there; so each time has its own.
    // Wombat deletes none.
    var prepareDatabases = methods.initIndexedDBOverride;
    methods.initIndexedDBOverride = function () {
      var win = this.$wbwindow;
      if (!win.IDBFactory) return;
      var origin = this.wb_orig_origin;
      var remove = win.IDBFactory.prototype.deleteDatabase;
      var owner = ((win.__WB_replay_top || win).wbinfo || this.wb_info).timestamp + '-' + origin;
      this.wb_orig_origin = owner;
      prepareDatabases.call(this);
      this.wb_orig_origin = origin;
      win.IDBFactory.prototype.deleteDatabase = function deleteDatabase(name) {
        return remove.call(this, 'wb-' + owner + '-' + name);
      };
      keepApart(win, 'wb-' + owner + '-');
    };
    var prepareCaches = methods.initCacheStorageOverride;
    methods.initCacheStorageOverride = function () {
      prepareCaches.call(this);
      forgetCaches(this.$wbwindow);
    };
    methods.initCachesOverride = function () {};
  }

  // Newer ways for text to become a style sheet or a part of the page.
  function patchStyles(methods) {
    function rewriting(owner, name, rewritten) {
      if (!owner || !owner.prototype[name]) return;
      var original = owner.prototype[name];
      owner.prototype[name] = function (text, options) { return original.call(this, rewritten(String(text)), options); };
    }
    var prepare = methods.initCSSOMOverrides;
    methods.initCSSOMOverrides = function () {
      prepare.call(this);
      var wombat = this;
      var win = this.$wbwindow;
      var style = function (text) { return wombat.rewriteStyle(text); };
      var markup = function (text) { return wombat.rewriteHtml(text); };
      rewriting(win.CSSStyleSheet, 'replace', style);
      rewriting(win.CSSStyleSheet, 'replaceSync', style);
      rewriting(win.Element, 'setHTMLUnsafe', markup);
      rewriting(win.ShadowRoot, 'setHTMLUnsafe', markup);
    };
  }
`;
