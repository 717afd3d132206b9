/**
 * Code that scripts make from text: in script elements, with `eval` and with `Function`. It is to see the stand-ins
 * that other scripts see, not what is behind them. Text of functions for the script of pages.
 */
import { CHECK_LOCATION, PLACE, STAND_INS } from '../rewrite/script-rewriter.ts';

export const CODE_PATCHES = `
  function patchCode(methods) {
    var NAMES = ${JSON.stringify(STAND_INS)};
    var MENTIONED = new RegExp('\\\\b(?:' + NAMES.join('|') + '|eval|return\\\\s+this)\\\\b');
    var PLACE = ${JSON.stringify(PLACE)};
    var CHECK = '_____WB$wombat$check$this$function_____';
    // What stands between quotes, and what declares a variable of that name, stays as it is.
    var QUOTED = /"[^"\\\\\\n]*(?:\\\\[^][^"\\\\\\n]*)*"?|'[^'\\\\\\n]*(?:\\\\[^][^'\\\\\\n]*)*'?|\\x60[^\\x60\\\\]*(?:\\\\[^][^\\x60\\\\]*)*\\x60?/.source;
    var LEFT = QUOTED + '|\\\\b(?:var|let|const)\\\\s+location\\\\b|';
    // Before a question mark, these are parts of a regular expression: /\\?location=/. Older browsers cannot look
    // behind.
    var set = new RegExp(LEFT + /(^|[\\s;{}(),:=]|=>|[\\\\&\\]]?\\?)location(\\s*)(=(?![=>])|(?:[-+*/%^|&]|\\|\\||&&|\\?\\?)=)/.source, 'g');
    var RETURNED = '(\\\\breturn\\\\s+)this\\\\b(?!\\\\$|\\\\s*[.[])';
    var HANDED_ON = '(^|[^\\\\w$.|/\\\\\\\\])this(?=\\\\s*(?:[,;)}]|$|[=!]==?|\\\\.\\\\s*(?:' + NAMES.join('|') + ')\\\\b))';
    var ownThis = new RegExp(LEFT + RETURNED + '|' + HANDED_ON, 'g');

    // Where it is the window, it is the stand-in.
    function withOwn(text) {
      if (text.indexOf('this') < 0) return text;
      return text.replace(ownThis, function (all, returning, before, at) {
        var start = returning === undefined ? before : returning;
        // A class that makes its own objects.
        var isMade = returning === undefined && before !== undefined && /\\bnew\\s+$/.test(text.slice(Math.max(0, at - 16), at + before.length));
        return start === undefined || isMade ? all : start + CHECK + '(this)';
      });
    }

    // Where the names are stand-ins, location = x would set the name and lead nowhere.
    function led(text) {
      if (text.indexOf('location') < 0) return text;
      return text.replace(set, function (all, before, space, operator) {
        if (before === undefined || /^[\\\\&\\]]/.test(before)) return all;
        return before + (operator === '=' ? 'location' + space + '= ${CHECK_LOCATION}' : PLACE + space + operator);
      });
    }

    // What the text declares for its whole must not meet a name of the block around it. Behind values of a list, only
    // brackets tell: no function's own counts.
    var declared = NAMES.map(function (name) { return new RegExp('\\\\bvar\\\\s+(?:[\\\\w$]+\\\\s*,\\\\s*)*' + name + '\\\\b'); });
    var LISTED = ',\\\\s*(' + NAMES.join('|') + ')(?=\\\\s*(?:=(?![=>])|[,;}\\\\n]|$))';
    var isListed = new RegExp(LISTED);
    var listParts = new RegExp(QUOTED + '|([([{])|([)\\\\]}])|(;)|\\\\b(var)\\\\b|' + LISTED, 'g');

    function listed(text) {
      var names = [];
      var depth = 0;
      var isList = false;
      if (!isListed.test(text)) return names;
      text.replace(listParts, function (all, opening, closing, end, list, name) {
        if (opening) depth++;
        else if (closing) depth--;
        else if (depth === 0 && (end || list)) isList = !end;
        else if (depth === 0 && isList && name) names.push(name);
        return all;
      });
      return names;
    }

    var wrap = methods.wrapScriptTextJsProxy;
    methods.wrapScriptTextJsProxy = function (text, excludes) {
      var names = NAMES.filter(function (name, at) { return declared[at].test(text); });
      return wrap.call(this, led(withOwn(text)), names.concat(listed(text), excludes || []));
    };
    var evaluate = methods.rewriteEvalArg;
    methods.rewriteEvalArg = function (run, text, extra) {
      return evaluate.call(this, run, /^\\s*this\\s*;?\\s*$/.test(text) ? CHECK + '(this)' : text, extra);
    };

    // A function of text is made within one that has the stand-ins as parameters, so that its own names still go first.
    function around(own, maker, texts) {
      var text = own.prototype.toString.call(Reflect.construct(maker, texts));
      // What it evaluates may mention any of them.
      var names = /\\beval\\b/.test(text) ? NAMES : NAMES.filter(function (name) { return text.indexOf(name) >= 0; });
      return { names: names, make: own.apply(undefined, names.concat('return ' + led(withOwn(text)))) };
    }

    // Pages that compile their templates make functions of the same texts again and again; browsers remember those too.
    var RECENT_CHARACTERS_MAX = 1000000;

    function functionsOf(wombat, own, maker) {
      var recent = new Map();
      var characters = 0;
      return function (values) {
        var texts = values.map(function (value) { return ''.concat(value); });
        var all = texts.map(function (text) { return text.length + ':' + text; }).join('');
        if (!MENTIONED.test(all)) return Reflect.construct(maker, texts);
        var found = recent.get(all) || around(own, maker, texts);
        if (!recent.has(all)) {
          characters += all.length;
          if (characters > RECENT_CHARACTERS_MAX) {
            recent.clear();
            characters = all.length;
          }
          recent.set(all, found);
        }
        return found.make.apply(undefined, found.names.map(function (name) {
          return wombat.$wbwindow._wb_wombat.local_init(name) || wombat.$wbwindow[name];
        }));
      };
    }

    // Functions that wait and those that yield have makers of their own.
    function patchMakers(wombat, win) {
      var own = win.Function;
      ['function', 'async function', 'function*', 'async function*'].forEach(function (start) {
        var prototype = Object.getPrototypeOf(own('return ' + start + ' () {}')());
        var maker = prototype.constructor;
        var functionOf = functionsOf(wombat, own, maker);
        var standIn = new Proxy(maker, {
          apply: function (made, self, values) { return functionOf(values); },
          construct: function (made, values, target) {
            var result = functionOf(values);
            return target === standIn ? result : Object.setPrototypeOf(result, target.prototype);
          }
        });
        Object.defineProperty(prototype, 'constructor', { value: standIn });
        if (maker === own) win.Function = standIn;
      });
    }

    // An eval that is handed on evaluates for the whole window, whatever it is called by. There is one, as pages
    // compare it.
    function patchEval(wombat, win) {
      var own = win.eval;
      var standIn = new Proxy(own, {
        apply: function (run, self, values) { return wombat.rewriteEvalArg(run, values[0]); }
      });
      wombat.wrappedEval = function () { return standIn; };
      win.__pinakes_eval = function (run) { return run === own ? standIn : run; };
    }

    // Where a script changes the location: that of the page, or a variable of that name.
    function placeOf(win, get, set) {
      return {
        get value() { return get(); },
        set value(to) {
          var found = get();
          if (found === win.WB_wombat_location || found === win.location) win.WB_wombat_location.href = to;
          else set(to);
        }
      };
    }

    var prepare = methods.initEvalOverride;
    methods.initEvalOverride = function () {
      prepare.call(this);
      var win = this.$wbwindow;
      // What is evaluated in its place sees the stand-ins that are there.
      win.__pinakes_code = function (text) { return typeof text === 'string' ? led(text) : text; };
      win.__pinakes_place = function (get, set) { return placeOf(win, get, set); };
      patchEval(this, win);
      patchMakers(this, win);
    };
  }
`;
