/**
 * Attributes that scripts write, of elements that they make and in markup: the code of handlers and of `javascript:`
 * links, where a page is led after a while, and where a button sends its form. The server rewrites those of the page.
 * Text of functions for the script of pages.
 */
export const ATTRIBUTE_PATCHES = `
  function patchAttributes(methods) {
    // What was made of codes, with what they were: a page reads what it wrote.
    var originals = new Map();
    var ORIGINALS_MAX = 1000;

    function remember(rewritten, original) {
      if (originals.size >= ORIGINALS_MAX) originals.clear();
      if (rewritten !== original) originals.set(rewritten, original);
      return rewritten;
    }

    function coded(wombat, code) {
      var declared = [];
      return wombat.skipWrapScriptTextBasedOnText(code, declared) ? code : wombat.wrapScriptTextJsProxy(code, declared);
    }

    var rewriteUrl = methods.rewriteUrl;
    methods.rewriteUrl = function (url, isRelative, modifier, doc) {
      var link = typeof url === 'string' && /^\\s*javascript:([^]*)$/i.exec(url);
      if (!link) return rewriteUrl.call(this, url, isRelative, modifier, doc);
      try {
        var code = decodeURIComponent(link[1]);
        var rewritten = coded(this, code);
        // Browsers take ends of lines out of a link, and with them that of a comment.
        return rewritten === code ? url : remember('javascript:' + rewritten.replace(/%/g, '%25').replace(/\\n/g, '%0A'), url);
      } catch (error) {
        return url;
      }
    };

    var extract = methods.extractOriginalURL;
    methods.extractOriginalURL = function (url) {
      return originals.size > 0 && originals.has(url) ? originals.get(url) : extract.call(this, url);
    };

    // The page that is shown after a while: '5; url=/next'.
    function refreshed(wombat, element, value) {
      var parts = /^(\\s*[\\d.]+(?:\\s*[;,]|\\s)\\s*(?:url\\s*=\\s*)?)(["']?)(\\S[^]*?)(\\2\\s*)$/i.exec(value);
      if (!parts || !/^refresh$/i.test(wombat.wb_getAttribute.call(element, 'http-equiv'))) return value;
      try {
        return remember(parts[1] + parts[2] + wombat.rewriteUrl(new wombat.URL(parts[3], document.baseURI).href) + parts[4], value);
      } catch (error) {
        return value;
      }
    }

    // Most attributes are none of these.
    var OF_INTEREST = /^(?:on[a-z]+|formaction|content|href|src|action)$/i;

    // Pages have attributes of their own, on-place and onward, which are no code.
    function isHandler(element, name) {
      return /^on/i.test(name) && name.toLowerCase() in element;
    }

    function attributeOf(wombat, element, name, value) {
      if (!OF_INTEREST.test(name)) return value;
      if (isHandler(element, name)) return remember(coded(wombat, value), value);
      if (/^formaction$/i.test(name)) return wombat.rewriteUrl(value);
      if (/^content$/i.test(name) && element.localName === 'meta') return refreshed(wombat, element, value);
      return /^(?:href|src|action)$/i.test(name) && /^\\s*javascript:/i.test(value) ? wombat.rewriteUrl(value) : value;
    }

    var rewriteElem = methods.rewriteElem;
    methods.rewriteElem = function (element) {
      var isChanged = rewriteElem.call(this, element);
      if (!element || !element.setAttribute || element._no_rewrite) return isChanged;
      // A form may have fields by the names of its properties.
      var wombat = this;
      this.$wbwindow.Element.prototype.getAttributeNames.call(element).forEach(function (name) {
        if (!OF_INTEREST.test(name)) return;
        var value = wombat.wb_getAttribute.call(element, name);
        var rewritten = attributeOf(wombat, element, name, value);
        if (rewritten === value) return;
        wombat.wb_setAttribute.call(element, name, rewritten);
        isChanged = true;
      });
      return isChanged;
    };

    var prepare = methods.initElementGetSetAttributeOverride;
    methods.initElementGetSetAttributeOverride = function () {
      prepare.call(this);
      var wombat = this;
      var prototype = this.$wbwindow.Element.prototype;
      var set = prototype.setAttribute;
      prototype.setAttribute = function setAttribute(name, value) {
        return set.call(this, name, attributeOf(wombat, this, String(name), String(value)));
      };
      var get = prototype.getAttribute;
      prototype.getAttribute = function getAttribute(name) {
        var value = get.call(this, name);
        if (originals.has(value)) return originals.get(value);
        return value !== null && /^formaction$/i.test(name) ? wombat.extractOriginalURL(value) : value;
      };
    };

    // Markup that is read holds what was written too.
    var CODED = /="((?:javascript:)?var _____WB\\$wombat\\$assign\\$function_____ = [^"]*)"/g;
    var ESCAPED = { '&quot;': '"', '&nbsp;': '\\xa0', '&lt;': '<', '&gt;': '>', '&amp;': '&' };

    function asWritten(html) {
      if (typeof html !== 'string' || originals.size === 0 || html.indexOf('="') < 0) return html;
      return html.replace(CODED, function (all, escaped) {
        var code = escaped.replace(/&(?:quot|nbsp|lt|gt|amp);/g, function (found) { return ESCAPED[found]; });
        if (!originals.has(code)) return all;
        return '="' + originals.get(code).replace(/&/g, '&amp;').replace(/\\xa0/g, '&nbsp;').replace(/"/g, '&quot;') + '"';
      });
    }

    var assign = methods.overrideHtmlAssign;
    methods.overrideHtmlAssign = function (element, name, isRead) {
      assign.call(this, element, name, isRead);
      var property = isRead && element && Object.getOwnPropertyDescriptor(element.prototype, name);
      if (!property || !property.get || !property.configurable) return;
      var get = property.get;
      // Wombat itself reads what it rewrote.
      property.get = function () { return this._no_rewrite ? get.call(this) : asWritten(get.call(this)); };
      Object.defineProperty(element.prototype, name, property);
    };

    var prepareProperties = methods.initAttrOverrides;
    methods.initAttrOverrides = function () {
      prepareProperties.call(this);
      this.overrideAttr(this.$wbwindow.HTMLButtonElement.prototype, 'formAction', 'mp_');
      this.overrideAttr(this.$wbwindow.HTMLInputElement.prototype, 'formAction', 'mp_');
    };
  }
`;
