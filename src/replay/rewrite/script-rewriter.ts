/**
 * Rewrites scripts for wombat, which runs in the page and has stand-ins for `window`, `document`, `location` and
 * others.
 *
 * A classic script is put into a block whose `let window`, `let location`... hide the real ones. Other scripts must
 * still see the declarations of the script outside of the block. They see functions and `var`. `let`, `const` and
 * `class` at the top become `var`. Asynchronous functions and generators are assigned to the window. A module gets the
 * same names as declarations of its own. Names that a script declares itself get no stand-in.
 *
 * Within the code, and never in its strings or comments:
 *
 *     this                        -> the stand-in, if it is the window; not in `this.name` of other names
 *     location = x                -> (changed location).value = x
 *                                    location = (stand-in).href = x, where it may be a default value
 *     location += x, ||= x ...    -> (changed location).value += x: of the page, or of a variable of that name
 *     x.postMessage(              -> x.__WB_pmw(self.window).postMessage(
 *     eval(x)                     -> eval(<x rewritten likewise>); a statement at the top -> the eval of the stand-in
 *     eval, passed on             -> that of the stand-in, unless it is a variable of that name
 *     import(x)                   -> ____wb_rewrite_import__(<URL>, x)
 *     import.meta.url             -> <URL>: that of the original
 *     import ... from 'x'         -> the link of the archive, in modules
 *
 * All code stays on its line, so that error messages name the right lines.
 */
import type { LinkRewriter } from './link-rewriter.ts';
import { type ScanHandler, type ScannedName, ScriptScanner } from './script-scanner.ts';

export type ScriptKind = 'classic' | 'module' | 'worker' | 'module-worker' | 'handler';

export const STAND_INS = [
  'window',
  'globalThis',
  'self',
  'document',
  'location',
  'top',
  'parent',
  'frames',
  'opener',
] as const;
const STAND_IN_SET: ReadonlySet<string> = new Set(STAND_INS);
/** The tokens before a name that a destructuring pattern declares. */
const BEFORE_BOUND_NAME: ReadonlySet<string> = new Set(['{', '[', ',', ':', '...']);
const ASSIGN = '_____WB$wombat$assign$function_____';
const CHECK_THIS = '_____WB$wombat$check$this$function_____(this)';
/** Reads the location only if it is initialized. It is not in the default value of a parameter named `location`. */
export const CHECK_LOCATION = '((self.__pinakes_location && self.__pinakes_location(() => location)) || {}).href = ';

/**
 * Stands for the location where a script changes it. This code begins with a word, so that a line before it ends there
 * even without a semicolon.
 */
export const CHANGED_LOCATION =
  'new (typeof __pinakes_place==="function"?__pinakes_place:function(get,set){return{get value(){return get()},set value(to){set(to)}}})' +
  '(()=>location,(to)=>location=to).value';
const CHANGE = /(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)=/y;
/** White space and comments between two tokens. */
const GAP = /(?:\s|\/\/.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*/y;
/** The code before a `{` that begins a block of a function or a statement, not a pattern. */
const BLOCK_BEFORE = /(?:\)|=>|\belse|\btry|\bdo|\bfinally)\s*\{\s*$/;

/** The tokens before a target of an assignment that are never before a name with a default value. */
const BEFORE_TARGET: ReadonlySet<string> = new Set(
  '; } ) = ? & | ! => return else do void await'.split(' ').concat(''),
);

/** Rewrites code in the page before `eval` evaluates it in place. */
const EVALUATED = '(typeof __pinakes_code==="function"?__pinakes_code:(code)=>code)(';

/** The `eval` of the stand-in evaluates for the whole window, and leaves out the names that the code declares. */
const EVAL_OF_WINDOW = `${ASSIGN}("globalThis").eval`;
/** The `eval` of the stand-in, unless the script has a variable `eval`. */
const EVAL_PASSED_ON = '(typeof __pinakes_eval==="function"?__pinakes_eval:(run)=>run)(eval)';
/** The tokens before a value that are never before a name that is declared. */
const BEFORE_VALUE: ReadonlySet<string> = new Set('= ? : & | ! return typeof =>'.split(' '));

/** A script without any of these is not rewritten. */
const MENTIONS = new RegExp(`\\b(?:${STAND_INS.join('|')}|this|postMessage|import|export|eval)\\b`);
/** Mentions a stand-in, or `eval`, whose code may mention any stand-in. */
const MENTIONS_STAND_IN = new RegExp(`\\b(?:${STAND_INS.join('|')}|eval)\\b`);
/** A declaration of a stand-in, as far as a pattern finds it. */
const DECLARES_STAND_IN = new RegExp(`\\b(?:var|let|const|function|class|,)\\s*(${STAND_INS.join('|')})\\b`, 'g');

type Patch = { readonly from: number; readonly to: number; readonly text: string };

export function rewriteScript(text: string, kind: ScriptKind, links: LinkRewriter): string {
  if (text.includes(ASSIGN) || !MENTIONS.test(text)) return text;
  const rewriting = new ScriptRewriting(text, kind, links);
  const rewritten = rewriting.result();
  return rewriting.isOtherwiseModule ? new ScriptRewriting(text, 'module', links).result() : rewritten;
}

class ScriptRewriting {
  /**
   * Whether a script that was requested as a classic one imports or exports, as only modules can. Scripts that add
   * module scripts to the page cause such requests.
   */
  isOtherwiseModule = false;
  readonly #text: string;
  readonly #kind: ScriptKind;
  readonly #links: LinkRewriter;
  readonly #isModule: boolean;
  readonly #isWorker: boolean;
  readonly #patches: Patch[] = [];
  /** Patches of `let`, `const` and `class` at the top, applied only if the script was read to its end. */
  readonly #declarations: Patch[] = [];
  /** Patches of `eval`, also applied only if the script was read to its end. */
  readonly #evaluations: Patch[] = [];
  /** Calls of `eval` whose brackets are open: where the argument begins and ends, and the depth around the call. */
  readonly #evaluating: { readonly from: number; readonly depth: number; to?: number }[] = [];
  /** Mentions of `eval` in brackets that are open, with the depth around the brackets. */
  readonly #passedOn: { readonly patch: Patch; readonly depth: number }[] = [];
  readonly #declared = new Set<string>();
  readonly #assigned: string[] = [];
  /** The depth of the current list of declarations; -1 outside of one. */
  #listDepth = -1;
  #isNameNext = false;
  #patternDepth = -1;
  #classDepth = -1;
  #isImport = false;
  #isAsync = false;
  #isGenerator = false;

  constructor(text: string, kind: ScriptKind, links: LinkRewriter) {
    this.#text = text;
    this.#kind = kind;
    this.#links = links;
    this.#isModule = kind === 'module' || kind === 'module-worker';
    this.#isWorker = kind === 'worker' || kind === 'module-worker';
  }

  result(): string {
    const handler: ScanHandler = {
      onName: (name) => this.#onName(name),
      onString: (start, end, before, depth) => this.#onString(start, end, before, depth),
      onPunctuation: (character, at, depth) => this.#onPunctuation(character, at, depth),
    };
    const scanner = new ScriptScanner(this.#text, handler, !this.#isModule);
    scanner.scan();
    if (!scanner.isWhole) this.#declareAllFound();
    const isWrapped = !this.#isWorker && MENTIONS_STAND_IN.test(this.#text);
    const isClassic = this.#kind === 'classic' && scanner.isWhole;
    const patches = [...this.#patches];
    if (isWrapped && isClassic) patches.push(...this.#declarations);
    if (scanner.isWhole && !this.#declared.has('eval')) patches.push(...this.#evaluations);
    const body = patched(this.#text, patches);
    return isWrapped ? this.#wrapped(body) : body;
  }

  #wrapped(body: string): string {
    const names = STAND_INS.filter((name) => !this.#declared.has(name));
    const declarations = names.map((name) => `let ${name}=${ASSIGN}("${name}");`).join('');
    if (this.#isModule) {
      return (
        // The module may declare any name of the window, so the window is read by a function of the global scope.
        `const ${ASSIGN}=(name)=>{const w=typeof _wb_wombat==="object"&&_wb_wombat;` +
        `return(w&&w.local_init&&w.local_init(name))||${ASSIGN}.constructor("return this")()[name]};${declarations}${body}`
      );
    }
    const assigned = this.#assigned.map((name) => `globalThis.${name}=${name};`).join('');
    return (
      `var ${ASSIGN}=function(name){return(self._wb_wombat&&self._wb_wombat.local_init&&self._wb_wombat.local_init(name))||self[name]};` +
      `if(!self.__WB_pmw){self.__WB_pmw=function(obj){this.__WB_source=obj;return this}}` +
      `{${declarations}{${assigned}${body}\n}}`
    );
  }

  #onName(token: ScannedName): void {
    const { name, before, depth } = token;
    const isProperty = before === '.' || before === '?.';
    if (isProperty) {
      if (name === 'postMessage' && !this.#isWorker && this.#nextCharacter(token.end) === '(') {
        this.#put(token.start, token.start, '__WB_pmw(self.window).');
      }
      return;
    }
    this.#declare(token);
    if (name === 'this') this.#onThis(token);
    else if (name === 'location') this.#onLocation(token);
    else if (name === 'import') this.#onImport(token);
    else if (name === 'eval') this.#onEval(token);
    else if (name === 'export' && depth === 0) {
      this.#noteModule(token);
      const next = this.#nextCharacter(token.end);
      this.#isImport = this.#isModule && (next === '{' || next === '*');
    }
  }

  #onThis({ start, end, before }: ScannedName): void {
    if (this.#isWorker) return;
    const after = this.#afterSpace(end);
    const next = this.#text[after];
    if (next === ':' && before !== '?') return;
    if (next === '.' || (next === '?' && this.#text[after + 1] === '.')) {
      const member = /^\??\.\s*([\w$]+)/.exec(this.#text.slice(after, after + 32))?.[1];
      if (member === undefined || !STAND_IN_SET.has(member)) return;
    } else if (next === '[') {
      const member = /^\[\s*(["'])(\w+)\1\s*\]/.exec(this.#text.slice(after, after + 32))?.[2];
      if (member === undefined || !STAND_IN_SET.has(member)) return;
    }
    // `new this`, in a class: without brackets `new` would construct the check.
    this.#put(start, end, before === 'new' ? `(${CHECK_THIS})` : CHECK_THIS);
  }

  #onLocation({ start, end, before, isInClass }: ScannedName): void {
    if (this.#isWorker || isInClass || before === 'var' || before === 'let' || before === 'const') return;
    const after = this.#afterGap(end);
    CHANGE.lastIndex = after;
    const isChange = CHANGE.test(this.#text);
    const next = this.#text[after + 1];
    if (!isChange && (this.#text[after] !== '=' || next === '=' || next === '>')) return;
    const isNoDefault = isChange || BEFORE_TARGET.has(before) || (before === '{' && this.#isInBlock(start));
    if (isNoDefault) this.#put(start, end, CHANGED_LOCATION);
    else this.#put(after + 1, after + 1, CHECK_LOCATION);
  }

  #isInBlock(at: number): boolean {
    return BLOCK_BEFORE.test(this.#text.slice(Math.max(0, at - 64), at));
  }

  #onEval({ start, end, before, depth }: ScannedName): void {
    if (this.#isWorker || before === 'function') return;
    const after = this.#afterSpace(end);
    const isCall = this.#text[after] === '(';
    if (isCall) this.#evaluating.push({ from: after + 1, depth });
    // At the top the code declares names of the window, which would collide with the names of the block.
    const isAtTop = isCall && depth === 0 && this.#kind === 'classic' && /^[;}]?$/.test(before);
    if (isAtTop) this.#evaluations.push({ from: start, to: end, text: EVAL_OF_WINDOW });
    else if (!isCall) this.#onEvalPassedOn(start, end, before, depth);
  }

  #onEvalPassedOn(start: number, end: number, before: string, depth: number): void {
    const after = this.#text.slice(this.#afterGap(end), this.#afterGap(end) + 2);
    // `(eval)(code)` still evaluates in place.
    if (/^=[^=]/.test(after) || (before === '(' && /^\)\s*\(/.test(this.#text.slice(end, end + 16)))) return;
    const patch = { from: start, to: end, text: EVAL_PASSED_ON };
    const isValue = BEFORE_VALUE.has(before) || (/^[;{]?$/.test(before) && /^(?:\.|\?\.)/.test(after));
    if (isValue) this.#evaluations.push(patch);
    else if (before === '(' || before === ',') this.#passedOn.push({ patch, depth: depth - 1 });
  }

  /**
   * At a closing bracket: rewrites the `eval` that is passed on in it, unless the bracket holds the parameters of a
   * function.
   */
  #endPassedOn(character: string, at: number, depth: number): void {
    while ((this.#passedOn.at(-1)?.depth ?? -1) >= depth) {
      const { patch, depth: own } = this.#passedOn.pop()!;
      const after = this.#afterGap(at + 1);
      const isCall = character === ')' && own === depth && !/^(?:\{|=>)/.test(this.#text.slice(after, after + 2));
      if (isCall) this.#evaluations.push(patch);
    }
  }

  /** At a closing bracket: ends the argument of `eval`. If a body follows, this is a method named `eval`. */
  #endEval(at: number, depth: number): void {
    if (this.#evaluating.at(-1)?.depth !== depth) return;
    const { from, to = at } = this.#evaluating.pop()!;
    if (this.#text[this.#afterGap(at + 1)] === '{') return;
    this.#evaluations.push({ from, to: from, text: EVALUATED }, { from: to, to, text: ')' });
  }

  #noteModule(token: ScannedName): void {
    if (this.#kind === 'classic' && token.depth === 0 && isStatementStart(token)) this.isOtherwiseModule = true;
  }

  #onImport(token: ScannedName): void {
    const { start, end, depth } = token;
    const next = this.#nextCharacter(end);
    if (next === '(') {
      const open = this.#text.indexOf('(', end);
      this.#put(start, open + 1, `____wb_rewrite_import__(${this.#base()},`);
    } else if (next === '.') {
      const own = /^\s*\.\s*meta\s*\.\s*url(?![\w$])/.exec(this.#text.slice(end, end + 64))?.[0];
      if (own !== undefined) this.#put(start, end + own.length, this.#base());
    } else {
      this.#isImport = this.#isModule && depth === 0;
      this.#noteModule(token);
    }
  }

  /** The URL of the script, as its own code sees it. */
  #base(): string {
    return JSON.stringify(this.#links.base).replaceAll('<', '\\u003c');
  }

  #onString(start: number, end: number, before: string, depth: number): void {
    if (!this.#isImport || depth !== 0 || (before !== 'from' && before !== 'import')) return;
    this.#isImport = false;
    const specifier = this.#text.slice(start + 1, end - 1);
    // Import maps resolve bare names.
    if (!/^(?:\.{0,2}\/|https?:)/i.test(specifier)) return;
    const link = this.#links.rewrite(specifier, this.#kind === 'module-worker' ? 'wkrf_' : 'esm_');
    if (link !== undefined)
      this.#put(
        start + 1,
        end - 1,
        link.replace(/["'\\]/g, (found) => encodeURIComponent(found)),
      );
  }

  /**
   * Notes the names that the script declares at its top, and the patches that make them visible outside of the block.
   */
  #declare(token: ScannedName): void {
    const { name, start, end, before, depth, functionDepth } = token;
    const isTop = depth === 0;
    if (this.#isNameNext || (this.#patternDepth >= 0 && depth > this.#patternDepth)) {
      // In a pattern, keys before a colon and names in default values are not declared.
      const isBound = this.#isNameNext || (BEFORE_BOUND_NAME.has(before) && this.#nextCharacter(end) !== ':');
      this.#isNameNext = false;
      if (isBound) this.#declared.add(name);
      return;
    }
    if (before === 'function' || (before === '*' && this.#isGenerator)) {
      if (isTop) this.#declared.add(name);
      if (isTop && (this.#isAsync || before === '*')) this.#assigned.push(name);
      this.#isAsync = false;
      this.#isGenerator = false;
      return;
    }
    if (this.#isImport && (isTop || depth === 1)) this.#declared.add(name);
    if (name === 'var' ? functionDepth === 0 : isTop && (name === 'let' || name === 'const')) {
      this.#beginList(end, depth);
      if (name !== 'var' && this.#listDepth >= 0) this.#declarations.push({ from: start, to: end, text: 'var' });
    } else if (name === 'class' && isTop && isStatementStart(token)) {
      this.#beginClass(token);
    } else if (name === 'function') {
      this.#isAsync = before === 'async' && isTop;
      this.#isGenerator = isTop && this.#nextCharacter(end) === '*' && (before === 'async' || isStatementStart(token));
    }
  }

  #beginList(end: number, depth: number): void {
    const next = this.#nextCharacter(end);
    if (next === '{' || next === '[') this.#patternDepth = depth;
    else if (!/[\w$\\\u0080-\uffff]/.test(next)) return;
    else this.#isNameNext = true;
    this.#listDepth = depth;
  }

  #beginClass({ start, end }: ScannedName): void {
    const name = /^\s+([\w$\u0080-\uffff]+)/.exec(this.#text.slice(end, end + 256))?.[1];
    if (name === undefined || name === 'extends') return;
    this.#declared.add(name);
    this.#declarations.push({ from: start, to: start, text: `var ${name}=` });
    this.#classDepth = 0;
  }

  #onPunctuation(character: string, at: number, depth: number): void {
    if (character === ')') this.#endEval(at, depth);
    if (character === ')' || character === ']' || character === '}') this.#endPassedOn(character, at, depth);
    const evaluating = this.#evaluating.at(-1);
    // Ends the first argument. Only a function of the page named `eval` uses further arguments.
    if (character === ',' && evaluating && evaluating.depth === depth - 1) evaluating.to ??= at;
    if (character === '}' || character === ']') {
      if (depth === this.#patternDepth) this.#patternDepth = -1;
      if (character === '}' && depth === this.#classDepth) {
        this.#classDepth = -1;
        this.#declarations.push({ from: at + 1, to: at + 1, text: ';' });
      }
      if (depth < this.#listDepth) this.#listDepth = -1;
    } else if (character === ';' && depth <= this.#listDepth) {
      this.#listDepth = -1;
      this.#isNameNext = false;
    } else if (character === ',' && depth === this.#listDepth) {
      const next = this.#nextCharacter(at + 1);
      if (next === '{' || next === '[') this.#patternDepth = depth;
      else this.#isNameNext = true;
    }
    if (depth !== 0 || !this.#isImport) return;
    // `export { a }` need not have `from`.
    if (character === ';' || (character === '}' && !this.#text.startsWith('from', this.#afterSpace(at + 1)))) {
      this.#isImport = false;
    }
  }

  /** For a script that could not be read to its end: names that any declaration mentions get no stand-in. */
  #declareAllFound(): void {
    for (const match of this.#text.matchAll(DECLARES_STAND_IN)) this.#declared.add(match[1]!);
  }

  #put(from: number, to: number, text: string): void {
    this.#patches.push({ from, to, text });
  }

  #afterSpace(at: number): number {
    while (at < this.#text.length && this.#text.charCodeAt(at) <= 0x20) at++;
    return at;
  }

  #afterGap(at: number): number {
    GAP.lastIndex = at;
    GAP.test(this.#text);
    return GAP.lastIndex;
  }

  #nextCharacter(at: number): string {
    return this.#text[this.#afterSpace(at)] ?? '';
  }
}

/** Whether a keyword here begins a statement, as far as the token before it shows. */
function isStatementStart({ before, isOnNewLine }: ScannedName): boolean {
  return (
    before === '' || before === ';' || before === '}' || before === '{' || (isOnNewLine && /[\w$)\]"`]$/.test(before))
  );
}

function patched(text: string, patches: readonly Patch[]): string {
  if (patches.length === 0) return text;
  const ordered = patches.toSorted((a, b) => a.from - b.from || a.to - b.to);
  const parts: string[] = [];
  let from = 0;
  for (const patch of ordered) {
    if (patch.from < from) continue;
    parts.push(text.slice(from, patch.from), patch.text);
    from = patch.to;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** The start of the script of a worker: it loads wombat's part for workers. */
export function workerPrelude(
  kind: 'worker' | 'module-worker',
  replayOrigin: string,
  stamp: string,
  originalUrl: string,
): string {
  const assets = `${replayOrigin}/static/`;
  if (kind === 'module-worker') return `import ${JSON.stringify(`${assets}module-worker.js`)};`;
  const prefix = `${replayOrigin}/web/`;
  const info = JSON.stringify({ prefix, prefixMod: `${prefix}${stamp}wkrf_/`, originalURL: originalUrl });
  return `self.importScripts(${JSON.stringify(`${assets}wombatWorkers.js`)});new WBWombat(${info});`;
}
