/**
 * Where links, forms and scripts of a page open what they lead to. The frame of replay can open no window, so what would open in one opens in the frame;
 * what names a frame of the page opens there. Which frames there are is known only when something is followed.
 *
 * In a sandbox a frame may lead itself, what is in it and what it is in, but no frame beside it, as the menu of a frameset does. What leads there is followed
 * from the page that both are in. Text of functions for the script of pages.
 */
export const WINDOW_MENDS = `
  function mendWindows(methods) {
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

    // Where something that asks for a window opens. The page may have given the frame of replay another name.
    function settled(win, target) {
      var top = topOf(win);
      if (/^_self$/i.test(target) || (target && !/^_/.test(target) && frameNamed(top, target))) return target;
      return win === top ? '_self' : top.name;
    }

    function isBeside(win, target) {
      var frame = target && !/^_/.test(target) && frameNamed(topOf(win), target);
      return !!frame && !isWithin(frame, win) && !isWithin(win, frame);
    }

    function targetOf(element, name) {
      var base = element.ownerDocument.querySelector('base[target]');
      return element.getAttribute(name) || (base && base.target) || '';
    }

    function settle(win, element, name) {
      var target = targetOf(element, name);
      var other = target && settled(win, target);
      if (other !== target) element.setAttribute(name, other);
      return other;
    }

    function settleForm(win, form, button) {
      return button && button.hasAttribute('formtarget') ? settle(win, button, 'formtarget') : settle(win, form, 'target');
    }

    function isLink(element) {
      return /^(?:a|area)$/i.test(element.localName || '');
    }

    function followFromTop(win, url, target) {
      var link = topOf(win).document.createElement('a');
      link.href = url;
      link.target = target;
      link.click();
    }

    function sendFromTop(win, form, button, target) {
      var document = topOf(win).document;
      var copy = document.createElement('form');
      copy.hidden = true;
      copy.action = button && button.hasAttribute('formaction') ? button.formAction : form.action;
      copy.method = button && button.hasAttribute('formmethod') ? button.formMethod : form.method;
      copy.enctype = form.enctype;
      copy.target = target;
      var fields = new win.FormData(form);
      if (button && button.name) fields.append(button.name, button.value);
      fields.forEach(function (value, name) {
        if (typeof value !== 'string') return;
        var field = document.createElement('textarea');
        field.name = name;
        field.value = value;
        copy.appendChild(field);
      });
      document.documentElement.appendChild(copy);
      document.defaultView.HTMLFormElement.prototype.submit.call(copy);
      copy.remove();
    }

    function clicked(win, event, isLast) {
      var link = event.composedPath().find(isLink);
      if (!link) return;
      var target = settle(win, link, 'target');
      var url = typeof link.href === 'string' ? link.href : '';
      var isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.defaultPrevented;
      if (!isLast || !isPlain || !/^https?:/i.test(url) || !isBeside(win, target)) return;
      event.preventDefault();
      followFromTop(win, url, target);
    }

    function submitted(win, event, isLast) {
      var target = settleForm(win, event.target, event.submitter);
      if (!isLast || event.defaultPrevented || !isBeside(win, target)) return;
      event.preventDefault();
      sendFromTop(win, event.target, event.submitter, target);
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
        var target = settled(win, String(name || ''));
        if (!url || !isBeside(win, target)) return openHere.call(this || win, url, target, features);
        followFromTop(win, new wombat.URL(url, win.document.baseURI).href, target);
        return wombat.objToProxy(frameNamed(topOf(win), target));
      };
      win.open = open;
      if (win.Window.prototype.open) win.Window.prototype.open = open;
      // Before the listeners of the page, which may let no other have the event, and behind them, since they may change the target.
      [false, true].forEach(function (isLast) {
        win.addEventListener('click', function (event) { clicked(win, event, isLast); }, !isLast);
        win.addEventListener('submit', function (event) { submitted(win, event, isLast); }, !isLast);
      });
      var submit = win.HTMLFormElement.prototype.submit;
      win.HTMLFormElement.prototype.submit = function () {
        var target = settleForm(win, this);
        return isBeside(win, target) ? sendFromTop(win, this, undefined, target) : submit.call(this);
      };
      var click = win.HTMLElement.prototype.click;
      win.HTMLElement.prototype.click = function () {
        if (isLink(this)) settle(win, this, 'target');
        return click.call(this);
      };
    };
  }
`;
