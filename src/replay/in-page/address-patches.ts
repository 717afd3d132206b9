/**
 * Addresses that scripts read and write: what wombat gets wrong about them. Text of functions for the script of pages.
 */
export const ADDRESS_PATCHES = `
  function patchAddresses(methods) {
    // What an address that a script sets is relative to is the base of the document, not what the link or the location
    // was before.
    function whole(wombat, document, value) {
      if (typeof value !== 'string' || /^\\s*[a-z][a-z0-9+.-]*:/i.test(value)) return value;
      try { return new wombat.URL(value, document.baseURI).href; } catch (error) { return value; }
    }

    // Setting a part of a link started from the address of the page, and what was set once was not set again, whatever
    // had happened in between.
    var setterOf = methods.makeSetLocProp;
    methods.makeSetLocProp = function (part, setter, getter) {
      var wombat = this;
      var own = '_' + (part === 'maybeHref' ? 'href' : part);
      var set = setterOf.call(this, part, setter, function (name) { return getter.call(this, name || 'href'); });
      return function (value) {
        if (this._no_rewrite) return set.call(this, value);
        this[own] = undefined;
        set.call(this, own === '_href' ? whole(wombat, this.ownerDocument || wombat.$wbwindow.document, value) : value);
        // What is read next is what the browser made of it.
        this._orig_href = undefined;
      };
    };

    // The address behind that of the archive stands as the page wrote it, http://example.org without a slash.
    var getterOf = methods.makeGetLocProp;
    methods.makeGetLocProp = function (part, getter) {
      var wombat = this;
      var get = getterOf.call(this, part, getter);
      // Messages are told apart by it, and those of a frame that has no address are of its page.
      if (part === 'origin')
        return function () {
          var origin = get.call(this);
          return origin === 'null' && !this.ownerDocument && /^about:/.test(wombat.$wbwindow.location.href) ? wombat.wb_orig_origin : origin;
        };
      if (part !== 'href') return get;
      return function () {
        var address = get.call(this);
        if (!/^https?:/i.test(address)) return address;
        try { return new wombat.URL(address).href; } catch (error) { return address; }
      };
    };

    // A page in the frame of replay has a referrer too, once a link led to it.
    methods.overrideReferrer = function (document) {
      var referrerOf = this.getOrigGetter(document, 'referrer');
      if (!referrerOf) return;
      var wombat = this;
      this.defGetterProp(document, 'referrer', function () {
        var given = referrerOf.call(wombat.proxyToObj(this));
        return given.indexOf(wombat.wb_info.prefix) === 0 ? wombat.extractOriginalURL(given) : '';
      });
    };

    // Of several images only the first had its own address, and the one that was chosen had none.
    var prepare = methods.initAttrOverrides;
    methods.initAttrOverrides = function () {
      prepare.call(this);
      var wombat = this;
      var win = this.$wbwindow;
      reading(win.HTMLImageElement, 'srcset', function (text) { return text.replace(wombat.wb_unrewrite_rx, ''); });
      reading(win.HTMLSourceElement, 'srcset', function (text) { return text.replace(wombat.wb_unrewrite_rx, ''); });
      reading(win.HTMLImageElement, 'currentSrc', function (text) { return wombat.extractOriginalURL(text); });
      reading(win.HTMLMediaElement, 'currentSrc', function (text) { return wombat.extractOriginalURL(text); });
      reading(win.HashChangeEvent, 'oldURL', function (text) { return wombat.extractOriginalURL(text); });
      reading(win.HashChangeEvent, 'newURL', function (text) { return wombat.extractOriginalURL(text); });
      var original = function (text) { return text && text.indexOf(wombat.wb_info.prefix) === 0 ? wombat.extractOriginalURL(text) : text; };
      reading(win.NavigationHistoryEntry, 'url', original);
      reading(win.NavigationDestination, 'url', original);
      reading(win.PerformanceEntry, 'name', original);
      reading(win.ErrorEvent, 'filename', original);
      var navigation = win.Navigation && win.Navigation.prototype;
      if (!navigation) return;
      var navigate = navigation.navigate;
      navigation.navigate = function (url, options) {
        return navigate.call(this, wombat.rewriteUrl(new wombat.URL(url, win.document.baseURI).href), options);
      };
    };

    // What is around the frame of replay is nothing that a page can ask for, and looking at it would be an error.
    var get = methods.defaultProxyGet;
    methods.defaultProxyGet = function (object, name, names, functions) {
      return name === '__WB_top_frame' ? undefined : get.call(this, object, name, names, functions);
    };

    function reading(owner, name, original) {
      var known = owner && Object.getOwnPropertyDescriptor(owner.prototype, name);
      if (!known || !known.get || !known.configurable) return;
      Object.defineProperty(owner.prototype, name, Object.assign({}, known, {
        get: function () { return original(known.get.call(this)); }
      }));
    }
  }
`;
