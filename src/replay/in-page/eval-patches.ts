/**
 * Rewrites code that scripts make from text: in script elements, with `eval` and with `Function`. This code must see
 * the same stand-ins as other scripts instead of the real window.
 */
import { CHECK_THIS, EvaluatedCode } from './evaluated-code.ts';
import type { PageSettings } from './page-settings.ts';
import type { Evaluate, PageWindow, Wombat } from './wombat.ts';

type Compiled = { readonly names: readonly string[]; readonly make: (...standIns: unknown[]) => object };
type Compile = (texts: readonly unknown[]) => object;

/**
 * Compiled functions are cached up to this size of their texts, because pages compile the same templates repeatedly.
 */
const RECENT_CHARACTERS_MAX = 1000000;

export function patchEvaluation(methods: Wombat, settings: PageSettings): void {
  const evaluated = new EvaluatedCode(settings);

  // Wombat does not rewrite `location = x` and `this`, and misses names after the first in a list of `var`.
  const wrap = methods.wrapScriptTextJsProxy;
  methods.wrapScriptTextJsProxy = function (this: Wombat, code, excludes) {
    const names = evaluated.declaredNames(code).concat(excludes || []);
    return wrap.call(this, evaluated.rewritten(code), names);
  };
  // Wombat does not rewrite eval('this'), the usual way to reach the window.
  const rewriteEvalArg = methods.rewriteEvalArg;
  methods.rewriteEvalArg = function (this: Wombat, run, code, extra) {
    return rewriteEvalArg.call(this, run, /^\s*this\s*;?\s*$/.test(String(code)) ? CHECK_THIS : code, extra);
  };

  const prepare = methods.initEvalOverride;
  methods.initEvalOverride = function (this: Wombat) {
    prepare.call(this);
    const win = this.$wbwindow;
    // Code that is evaluated in place already sees the stand-ins, so only changes of `location` are rewritten.
    win.__pinakes_code = (code) => (typeof code === 'string' ? evaluated.withChangedLocation(code) : code);
    win.__pinakes_place = changedPlaceOf(win);
    patchEval(this, win);
    patchFunctions(this, win, evaluated, settings.standIns);
  };
}

/**
 * A page may pass `eval` on and call it by another name, which evaluates code in the scope of the window. Wombat makes
 * a new function at each mention of `eval`, but pages compare these functions. So there is one function here.
 */
function patchEval(wombat: Wombat, win: PageWindow): void {
  const own = win.eval as Evaluate;
  const standIn = new Proxy(own, {
    apply: (run, _self, [code]) => wombat.rewriteEvalArg(run, code),
  });
  wombat.wrappedEval = () => standIn;
  win.__pinakes_eval = (run) => (run === own ? standIn : run);
}

/**
 * Returns a constructor of the object that a rewritten script changes in place of `location`, which may be the location
 * of the page or a variable of that name. Scripts call the constructor with `new`, so it cannot be an arrow function.
 */
function changedPlaceOf(win: PageWindow): NonNullable<PageWindow['__pinakes_place']> {
  function ChangedPlace(get: () => unknown, set: (value: unknown) => void): { value: unknown } {
    return {
      get value() {
        return get();
      },
      set value(to) {
        const found = get();
        if (found === win.WB_wombat_location || found === win.location) win.WB_wombat_location.href = to as string;
        else set(to);
      },
    };
  }
  return ChangedPlace;
}

/** Wombat does not patch `Function`. Asynchronous functions and generators have their own constructors. */
function patchFunctions(wombat: Wombat, win: PageWindow, evaluated: EvaluatedCode, standIns: readonly string[]): void {
  const own = win.Function;
  for (const start of ['function', 'async function', 'function*', 'async function*']) {
    const prototype = Object.getPrototypeOf(own(`return ${start} () {}`)());
    const maker: FunctionConstructor = prototype.constructor;
    const compile = compilerOf(wombat, own, maker, evaluated, standIns);
    const standIn: FunctionConstructor = new Proxy(maker, {
      apply: (_made, _self, texts) => compile(texts),
      construct: (_made, texts, target) => {
        const result = compile(texts);
        return target === standIn ? result : Object.setPrototypeOf(result, target.prototype);
      },
    });
    Object.defineProperty(prototype, 'constructor', { value: standIn });
    if (maker === own) win.Function = standIn;
  }
}

/**
 * Compiles a function from text inside another function whose parameters are the stand-ins, so that names in the text
 * hide them. Caches compiled functions, as browsers do.
 */
function compilerOf(
  wombat: Wombat,
  own: FunctionConstructor,
  maker: FunctionConstructor,
  evaluated: EvaluatedCode,
  standIns: readonly string[],
): Compile {
  const recent = new Map<string, Compiled>();
  let characters = 0;

  function compiledAround(texts: string[]): Compiled {
    const code = own.prototype.toString.call(Reflect.construct(maker, texts));
    // If the code calls `eval`, the evaluated text may mention any stand-in.
    const names = /\beval\b/.test(code) ? standIns : standIns.filter((name) => code.indexOf(name) >= 0);
    return { names, make: own(...names, `return ${evaluated.rewritten(code)}`) as Compiled['make'] };
  }

  return (values) => {
    const texts = values.map((value) => ''.concat(value as string));
    const key = texts.map((text) => `${text.length}:${text}`).join('');
    if (!evaluated.mentionsWindow(key)) return Reflect.construct(maker, texts);
    const compiled = recent.get(key) || compiledAround(texts);
    if (!recent.has(key)) {
      characters += key.length;
      if (characters > RECENT_CHARACTERS_MAX) {
        recent.clear();
        characters = key.length;
      }
      recent.set(key, compiled);
    }
    const win = wombat.$wbwindow;
    return compiled.make(
      ...compiled.names.map(
        (name) => win._wb_wombat.local_init(name) || (win as unknown as Record<string, unknown>)[name],
      ),
    );
  };
}
