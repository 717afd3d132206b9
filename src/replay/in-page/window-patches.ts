/**
 * Where links, forms and scripts of a page open what they lead to. The frame of replay can open no window, so what
 * would open in one opens in the frame; what names a frame of the page opens there. Which frames there are is known
 * only when something is followed.
 *
 * In a sandbox a frame may lead itself and what is in it, but neither what it is in nor a frame beside it, as the menu
 * of a frameset does. What leads there is followed from the page that both are in. Windows that open without anybody
 * having clicked, as advertisements did, would take the place of the page; they are refused, as browsers do. Text of
 * functions for the script of pages.
 */
export const WINDOW_PATCHES = `
  function patchWindows(methods) {
    function topOf(win) {
      return win.__WB_replay_top || win;
    }

    function frameNamed(win, name) {
      try {
        if (win.name === name) return win;
        for (var at = 0; at < win.frames.length; at++) {
          var found = frameNamed(win.frames[at], name);
          if (found) return found;
        }
      } catch (error) {}
      return undefined;
    }

    function isWithin(win, other) {
      for (var at = win; ; at = at.parent) {
        if (at === other) return true;
        if (at === at.parent) return false;
      }
    }

    // From which page a target is led, and by what name.
    function wayTo(win, target) {
      var top = topOf(win);
      if (!target || /^_self$/i.test(target)) return { from: win, target: target };
      if (/^_parent$/i.test(target)) return { from: win === top ? top : win.parent, target: '_self' };
      var frame = !/^_/.test(target) && frameNamed(top, target);
      if (frame) return { from: isWithin(frame, win) ? win : top, target: target };
      return { from: top, target: '_self', isWindow: !/^_top$/i.test(target) };
    }

    function targetOf(element, name) {
      var base = element.ownerDocument.querySelector('base[target]');
      return element.getAttribute(name) || (base && base.target) || '';
    }

    // What the page can lead itself is left to the browser.
    function settle(win, element, name) {
      var target = targetOf(element, name);
      var way = wayTo(win, target);
      if (way.from === win && way.target !== target) element.setAttribute(name, way.target);
      return way;
    }

    function settleForm(win, form, button) {
      return button && button.hasAttribute('formtarget') ? settle(win, button, 'formtarget') : settle(win, form, 'target');
    }

    function isLink(element) {
      return /^(?:a|area)$/i.test(element.localName || '');
    }

    function follow(way, url) {
      var link = way.from.document.createElement('a');
      link.href = url;
      link.target = way.target;
      link.click();
    }

    // Fields may have the names of properties of their form.
    function partOf(win, form, name) {
      return Object.getOwnPropertyDescriptor(win.HTMLFormElement.prototype, name).get.call(form);
    }

    function send(win, form, button, way) {
      var document = way.from.document;
      var copy = document.createElement('form');
      copy.hidden = true;
      copy.action = button && button.hasAttribute('formaction') ? button.formAction : partOf(win, form, 'action');
      copy.method = button && button.hasAttribute('formmethod') ? button.formMethod : partOf(win, form, 'method');
      copy.enctype = partOf(win, form, 'enctype');
      copy.target = way.target;
      var fields = new win.FormData(form);
      if (button && button.name) fields.append(button.name, button.value);
      var inputs = [];
      fields.forEach(function (value, name) {
        if (typeof value !== 'string') return;
        var field = document.createElement('textarea');
        field.name = name;
        field.value = value;
        inputs.push(field);
      });
      copy.append.apply(copy, inputs);
      document.documentElement.appendChild(copy);
      document.defaultView.HTMLFormElement.prototype.submit.call(copy);
      document.documentElement.removeChild(copy);
    }

    // Events that the page let come to their end. What is to be done there is done a little later for those that it did
    // not.
    var ended = new WeakSet();

    function atEnd(event, isLast, act) {
      if (isLast) ended.add(event);
      else setTimeout(function () { ended.has(event) || act(); });
    }

    function clicked(win, event, isLast, known) {
      var link = known || event.composedPath().find(isLink);
      if (!link) return;
      atEnd(event, isLast, function () { clicked(win, event, true, link); });
      var way = settle(win, link, 'target');
      var url = typeof link.href === 'string' ? link.href : '';
      var isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.defaultPrevented;
      if (!isLast || !isPlain || way.from === win || !/^https?:/i.test(url) || link.hasAttribute('download')) return;
      event.preventDefault();
      follow(way, url);
    }

    function submitted(win, event, isLast) {
      if (!event.isTrusted) return;
      atEnd(event, isLast, function () { submitted(win, event, true); });
      var way = settleForm(win, event.target, event.submitter);
      if (!isLast || event.defaultPrevented || way.from === win) return;
      event.preventDefault();
      send(win, event.target, event.submitter, way);
    }

    // Names stay as they are until they are followed.
    methods.rewriteAttrTarget = function (target) {
      return target;
    };

    var prepare = methods.initOpenOverride;
    methods.initOpenOverride = function () {
      prepare.call(this);
      var win = this.$wbwindow;
      var wombat = this;
      var openHere = win.open;
      var open = function (url, name, features) {
        var way = wayTo(win, String(name || '_blank'));
        var activation = win.navigator.userActivation;
        if (way.isWindow && activation && !activation.isActive) return null;
        // A window that is opened first and led later.
        if (way.isWindow && /^about:blank$/i.test(url)) url = '';
        if (way.from === win) return openHere.call(this || win, url, way.target, features);
        if (url) follow(way, new wombat.URL(url, win.document.baseURI).href);
        return wombat.objToProxy(way.target === '_self' ? way.from : frameNamed(way.from, way.target));
      };
      win.open = open;
      if (win.Window.prototype.open) win.Window.prototype.open = open;
      var submit = win.HTMLFormElement.prototype.submit;
      win.HTMLFormElement.prototype.submit = function () {
        var way = settleForm(win, this);
        return way.from === win ? submit.call(this) : send(win, this, undefined, way);
      };
      var click = win.HTMLElement.prototype.click;
      win.HTMLElement.prototype.click = function () {
        if (isLink(this)) settle(win, this, 'target');
        return click.call(this);
      };
    };

    var prepareWriting = methods.initDocWriteOpenCloseOverride;
    methods.initDocWriteOpenCloseOverride = function () {
      prepareWriting.call(this);
      var win = this.$wbwindow;
      // Before the listeners of the page, which may let no other have the event, and behind them, since they may change
      // the target.
      var listeners = [false, true].map(function (isLast) {
        return {
          click: function (event) { clicked(win, event, isLast); },
          submit: function (event) { submitted(win, event, isLast); }
        };
      });
      function listen(to) {
        listeners.forEach(function (each, at) {
          to.addEventListener('click', each.click, at === 0);
          to.addEventListener('submit', each.submit, at === 0);
        });
      }
      listen(win);
      // What is in a closed root shows nowhere else.
      var attach = win.Element.prototype.attachShadow;
      win.Element.prototype.attachShadow = function (options) {
        var root = attach.call(this, options);
        if (root.mode === 'closed') listen(root);
        return root;
      };
      // A document that is written anew has lost all its listeners.
      ['open', 'write', 'writeln'].forEach(function (name) {
        var own = win.document[name];
        win.document[name] = win.Document.prototype[name] = function () {
          var result = own.apply(this, arguments);
          listen(win);
          return result;
        };
      });
    };
  }
`;
