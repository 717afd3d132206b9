/**
 * Code that scripts make from text: in script elements, with `eval` and with `Function`. It is to see the stand-ins that other scripts see, not what is behind
 * them. Text of functions for the script of pages.
 */
import { CHECK_LOCATION, STAND_INS } from './script-rewriter.ts';

export const CODE_MENDS = `
  function mendCode(methods) {
    var NAMES = ${JSON.stringify(STAND_INS)};
    var MENTIONED = new RegExp('\\\\b(?:' + NAMES.join('|') + '|return\\\\s+this)\\\\b');
    var CHECK = '_____WB$wombat$check$this$function_____';
    // What stands between quotes, and what declares a variable of that name, stays as it is.
    var LEFT = /"[^"\\\\\\n]*(?:\\\\[^][^"\\\\\\n]*)*"?|'[^'\\\\\\n]*(?:\\\\[^][^'\\\\\\n]*)*'?|\\x60[^\\x60\\\\]*(?:\\\\[^][^\\x60\\\\]*)*\\x60?|\\b(?:var|let|const)\\s+location\\b/.source + '|';
    var set = new RegExp(LEFT + /(^|[\\s;{}(),:!|])location\\s*=(?![=>])/.source, 'g');
    var returned = new RegExp(LEFT + /(\\breturn\\s+)this\\b(?!\\$|\\s*[.[])/.source, 'g');

    // Where the names are stand-ins, location = x would set the name and lead nowhere.
    function led(text) {
      return text.replace(set, function (all, before) {
        return before === undefined ? all : before + 'location = ${CHECK_LOCATION}';
      });
    }

    var declared = NAMES.map(function (name) { return new RegExp('\\\\bvar\\\\s+(?:[\\\\w$]+\\\\s*,\\\\s*)*' + name + '\\\\b'); });
    var wrap = methods.wrapScriptTextJsProxy;
    methods.wrapScriptTextJsProxy = function (text, excludes) {
      var own = NAMES.filter(function (name, at) { return declared[at].test(text); });
      return wrap.call(this, led(text), own.concat(excludes || []));
    };
    var evaluate = methods.rewriteEvalArg;
    methods.rewriteEvalArg = function (run, text, extra) {
      return evaluate.call(this, run, /^\\s*this\\s*;?\\s*$/.test(text) ? CHECK + '(this)' : text, extra);
    };

    // A function of text is made within one that has the stand-ins as parameters, so that its own names still go first.
    function functionOf(wombat, own, textOf, values) {
      var made = Reflect.construct(own, values);
      var text = textOf.call(made);
      if (!MENTIONED.test(text)) return made;
      var code = led(text).replace(returned, function (all, before) {
        return before === undefined ? all : before + CHECK + '(this)';
      });
      var standIns = NAMES.map(function (name) { return wombat.$wbwindow._wb_wombat.local_init(name) || wombat.$wbwindow[name]; });
      return own.apply(undefined, NAMES.concat('return ' + code)).apply(undefined, standIns);
    }

    var prepare = methods.initEvalOverride;
    methods.initEvalOverride = function () {
      prepare.call(this);
      var wombat = this;
      var win = this.$wbwindow;
      // What is evaluated in its place sees the stand-ins that are there.
      win.__pinakes_code = function (text) { return typeof text === 'string' ? led(text) : text; };
      var own = win.Function;
      var textOf = own.prototype.toString;
      var standIn = new Proxy(own, {
        apply: function (made, self, values) { return functionOf(wombat, own, textOf, values); },
        construct: function (made, values, target) {
          return target === standIn ? functionOf(wombat, own, textOf, values) : Reflect.construct(made, values, target);
        }
      });
      win.Function = standIn;
      Object.defineProperty(own.prototype, 'constructor', { value: standIn });
    };
  }
`;
