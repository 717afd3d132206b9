/**
 * Documents and workers that scripts make from text: in the `srcdoc` of a frame, or as a blob. They are prepared like
 * those that the server gives, before any script of theirs runs. Text of functions for the script of pages.
 */
export const MADE_PATCHES = `
  // A document with what every replayed one gets at its start.
  function preparedDocument(wombat, text) {
    if (text.indexOf('pinakesReplay(') >= 0) return text;
    var info = wombat.wb_info;
    var script = function (start, content) { return '<script' + start + '>' + content + '</' + 'script>'; };
    var head = ['wombat', 'pinakes-replay'].map(function (name) { return script(' src="' + info.static_prefix + name + '.js"', ''); });
    head.push(script('', 'pinakesReplay(' + JSON.stringify(info).replace(/</g, '\\\\u003c') + ')'));
    return (wombat.rewriteHtml(text) || '').replace(/^(?:\\s*<!--[^]*?-->)*\\s*<!doctype[^>]*>|^/i, function (start) {
      return start + head.join('');
    });
  }

  // Modules that are named by their address, as a link of the archive has it.
  function withModuleLinks(wombat, text, modifier) {
    return text.replace(/(\\bfrom\\s*|\\bimport\\s*)(["'])((?:https?:|\\.{0,2}\\/)[^"'\\s]*)\\2/g, function (all, before, quote, link) {
      return before + quote + wombat.rewriteUrl(new wombat.URL(link, document.baseURI).href, false, modifier) + quote;
    });
  }

  function patchMade(methods) {
    function readBlob(wombat, link) {
      var asked = new XMLHttpRequest();
      wombat.utilFns.XHRopen.call(asked, 'GET', link, false);
      wombat.utilFns.XHRsend.call(asked);
      return asked;
    }

    function asBlob(wombat, text, type) {
      return wombat.URL.createObjectURL(new Blob([text], { type: type }));
    }

    // A page reads what it assigned.
    methods.overrideHtmlAssignSrcDoc = function (owner, name) {
      var wombat = this;
      var set = this.getOrigSetter(owner.prototype, name);
      this.defProp(owner.prototype, name, function (value) {
        this.__wb_srcdoc = value;
        set.call(this, preparedDocument(wombat, String(value)));
      }, function () { return this.__wb_srcdoc; });
    };
    var rewriteFrame = methods.rewriteFrameSrc;
    methods.rewriteFrameSrc = function (element, name) {
      var text = this.wb_getAttribute.call(element, 'srcdoc');
      var prepared = text && preparedDocument(this, text);
      if (prepared !== text) this.wb_setAttribute.call(element, 'srcdoc', prepared);
      return rewriteFrame.call(this, element, name) || prepared !== text;
    };
    var rewriteUrl = methods.rewriteUrl;
    methods.rewriteUrl = function (url, isRelative, modifier, doc) {
      if (modifier !== 'if_' || !/^blob:/i.test(url)) return rewriteUrl.call(this, url, isRelative, modifier, doc);
      try {
        var made = readBlob(this, url);
        var isPage = /^text\\/html\\b/i.test(made.getResponseHeader('content-type'));
        return isPage ? asBlob(this, preparedDocument(this, made.responseText), 'text/html;charset=utf-8') : url;
      } catch (error) {
        return url;
      }
    };

    // Wombat prepares no modules, and forgets the time.
    var rewriteWorker = methods.rewriteWorker;
    methods.rewriteWorker = function (url, options) {
      if (!/^blob:/i.test(url)) return rewriteWorker.call(this, url, options);
      var info = this.wb_info;
      var place = { prefix: info.prefix, prefixMod: info.prefix + info.wombat_ts + 'wkrf_/', originalURL: info.url };
      var begin = 'new self.WBWombat(' + JSON.stringify(place) + ');';
      var wombatWorkers = JSON.stringify(info.static_prefix + 'wombatWorkers.js');
      var code = readBlob(this, url).responseText.replace(this.workerBlobRe, '').replace(this.rmCheckThisInjectRe, 'this');
      if (!options || options.type !== 'module')
        return asBlob(this, 'self.importScripts(' + wombatWorkers + ');' + begin + code, 'text/javascript');
      // What is imported runs in this order, before anything else.
      var imports = 'import ' + wombatWorkers + ';import "data:text/javascript,' + encodeURIComponent(begin) + '";';
      var linked = withModuleLinks(this, code, 'wkrf_').replace(/(^|[^\\w$.])import\\s*\\(/g, '$1____wb_rewrite_import__(undefined,');
      return asBlob(this, imports + linked, 'text/javascript');
    };
  }
`;
