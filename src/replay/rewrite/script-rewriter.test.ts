import assert from 'node:assert/strict';
import test from 'node:test';
import { createContext, runInContext, Script } from 'node:vm';
import fc from 'fast-check';
import { LinkRewriter } from './link-rewriter.ts';
import { rewriteScript, type ScriptKind } from './script-rewriter.ts';

const links = () => new LinkRewriter('https://example.org/js/app.js', Date.UTC(2024, 2, 1, 12));
const WEB = '/web/20240301120000';

/** The code between the declarations and the end of the block. */
function body(code: string, kind: ScriptKind = 'classic'): string {
  const text = rewriteScript(code, kind, links());
  const wrapped = /^.*?\{(?:let \w+=[^;]*;)*\{((?:globalThis\.\w+=\w+;)*)(.*)\n\}\}$/s.exec(text);
  return wrapped ? wrapped[1]! + wrapped[2]! : text.replace(/^const _____WB.*?\[name\]\};(?:let \w+=[^;]*;)*/s, '');
}

const THIS = '_____WB$wombat$check$this$function_____(this)';
const LOCATION = '((self.__pinakes_location && self.__pinakes_location(() => location)) || {}).href = ';

const PLACE =
  'new (typeof __pinakes_place==="function"?__pinakes_place:function(get,set){return{get value(){return get()},set value(to){set(to)}}})(()=>location,(to)=>location=to).value';

const EVAL = '(typeof __pinakes_eval==="function"?__pinakes_eval:(run)=>run)(eval)';
const CODE = '(typeof __pinakes_code==="function"?__pinakes_code:(code)=>code)';
const WINDOW_EVAL = '_____WB$wombat$assign$function_____("globalThis").eval';

const CLASSIC: readonly [code: string, expected: string][] = [
  ['window.x = this', `window.x = ${THIS}`],
  ['window; new this(1); new this; new this.top()', `window; new (${THIS})(1); new (${THIS}); new (${THIS}).top()`],
  [
    'window; return_(this, this.a, this["b"], this.location, this?.document, this["location"], this[ `top` ])',
    `window; return_(${THIS}, this.a, this["b"], ${THIS}.location, ${THIS}?.document, ${THIS}["location"], this[ \`top\` ])`,
  ],
  [
    'window; x = { this: 1, get this() {} }; y = a ? this : b',
    `window; x = { this: 1, get ${THIS}() {} }; y = a ? ${THIS} : b`,
  ],
  ['if (eval(a(1), eval("b"))) {}', `if (eval(${CODE}(a(1)), eval(${CODE}("b")))) {}`],
  ['x.eval(a); ({ eval(b) {} }); function eval(c) {}', 'x.eval(a); ({ eval(b) {} }); function eval(c) {}'],
  [
    'x = { eval(a) /* b */ {} }; class A { eval(a) // b\n {} }',
    'x = { eval(a) /* b */ {} }; var A=class A { eval(a) // b\n {} };',
  ],
  ['var eval = f; eval(a)', 'var eval = f; eval(a)'],
  ['(0, eval)(a); f(b, eval)', `(0, ${EVAL})(a); f(b, ${EVAL})`],
  [
    'var e = eval; x = { e: eval, g: a ? eval : b }; eval.call(a, b); return_(c || eval)',
    `var e = ${EVAL}; x = { e: ${EVAL}, g: a ? ${EVAL} : b }; ${EVAL}.call(a, b); return_(c || ${EVAL})`,
  ],
  ...[
    '(eval)(a)',
    'x = { a, eval }; y = { eval, b }; z = { eval: 1 }; eval = 2',
    'function f(eval) {} g = (a, eval) => a; h = { i(eval) /* b */ {} }',
    'class A { eval = 1; static eval; }\nfoo\neval.call(a)'.replace('class A', 'x = class'),
  ].map((code): [string, string] => [code, code]),
  ['eval(a); { eval(b) }', `${WINDOW_EVAL}(${CODE}(a)); { eval(${CODE}(b)) }`],
  ['f = (a) => eval(b)', `f = (a) => eval(${CODE}(b))`],
  ['location = "/x"', `${PLACE} = "/x"`],
  ['a = b\nlocation /* c */ += "/x"', `a = b\n${PLACE} /* c */ += "/x"`],
  ['if (a) location ||= b; else location &&= c', `if (a) ${PLACE} ||= b; else ${PLACE} &&= c`],
  ['f((location -= 1), [location ??= 2])', `f((${PLACE} -= 1), [${PLACE} ??= 2])`],
  ['a.location += 1; location + 1; location >= 2', 'a.location += 1; location + 1; location >= 2'],
  [
    'function f({ location = 1 }, [location = 2]) { location = 3 } g = (location = 4) => location = 5',
    `function f({ location =${LOCATION} 1 }, [location =${LOCATION} 2]) { ${PLACE} = 3 } g = (location =${LOCATION} 4) => ${PLACE} = 5`,
  ],
  [
    'location == "/x"; location => 1; a.location = 2; var location2 = 3',
    'location == "/x"; location => 1; a.location = 2; var location2 = 3',
  ],
  ['frame.postMessage("x", "*")', 'frame.__WB_pmw(self.window).postMessage("x", "*")'],
  ['top; a?.postMessage (1)', 'top; a?.__WB_pmw(self.window).postMessage (1)'],
  [
    `window; "this location = 1"; 'this'; // this\n/* this */ /this location = /.test(\`this $\{this} this\`)`,
    `window; "this location = 1"; 'this'; // this\n/* this */ /this location = /.test(\`this \${${THIS}} this\`)`,
  ],
  ['window; a = b / this / c; d = e++ / this / f', `window; a = b / ${THIS} / c; d = e++ / ${THIS} / f`],
  ['window; if (x) /this/.test(y)', 'window; if (x) /this/.test(y)'],
  ['window; let a = 1, b; const { c, d: [e] } = f', 'window; var a = 1, b; var { c, d: [e] } = f'],
  ['window; { let a = 1 } function f() { const b = 2 }', 'window; { let a = 1 } function f() { const b = 2 }'],
  ['window; for (let i = 0;;) {}', 'window; for (let i = 0;;) {}'],
  ['window; class A extends B { m() {} }\n[1]', 'window; var A=class A extends B { m() {} };\n[1]'],
  ['window; x = class A {}', 'window; x = class A {}'],
  [
    'window; async function a() {} function* b() {} function c() {}',
    'globalThis.a=a;globalThis.b=b;window; async function a() {} function* b() {} function c() {}',
  ],
  ['document; import("./x.js")', 'document; ____wb_rewrite_import__("https://example.org/js/app.js","./x.js")'],
  ['a.import("x"); import_("y")', 'a.import("x"); import_("y")'],
  ["<!-- don't show this\nlocation = '/x'\n--> isn't shown", `<!-- don't show this\n${PLACE} = '/x'\n--> isn't shown`],
  ["window; x = a\n--> 0 isn't\nthis", `window; x = a\n--> 0 isn't\n${THIS}`],
  ['window; while (n --> 0) f(this)', `window; while (n --> 0) f(${THIS})`],
  [
    'f(class A extends b({ class: 1 }) { location = 1; static location = 2; c() { location = 3 } }); location = 4',
    `f(class A extends b({ class: 1 }) { location = 1; static location = 2; c() { ${PLACE} = 3 } }); ${PLACE} = 4`,
  ],
  ['f({ class: 1, a() { location = 2 } })', `f({ class: 1, a() { ${PLACE} = 2 } })`],
];

for (const [code, expected] of CLASSIC) {
  test(`a script ${JSON.stringify(code)} is rewritten`, () => {
    assert.equal(body(code).replace(`get ${THIS}()`, 'get this()'), expected.replace(`get ${THIS}()`, 'get this()'));
  });
}

for (const [code, expected] of [
  ['import a from "/a.js"', `import a from "${WEB}esm_/https://example.org/a.js"`],
  ["import { b as c } from './b.js'; c()", `import { b as c } from '${WEB}esm_/https://example.org/js/b.js'; c()`],
  ['import "https://cdn.example/c.js"', `import "${WEB}esm_/https://cdn.example/c.js"`],
  ['export * from "../d.js"', `export * from "${WEB}esm_/https://example.org/d.js"`],
  ['import lodash from "lodash"', 'import lodash from "lodash"'],
  [
    'x = import.meta.url; y = await import(z, o); import.meta.urls',
    'x = "https://example.org/js/app.js"; y = await ____wb_rewrite_import__("https://example.org/js/app.js",z, o); import.meta.urls',
  ],
  ['const from = "/x"; export default from', 'const from = "/x"; export default from'],
  ['window; const a = 1', 'window; const a = 1'],
  [
    'import { class as c } from "c"; function f() { if (c) { location = 1 } }',
    `import { class as c } from "c"; function f() { if (c) { ${PLACE} = 1 } }`,
  ],
] as const) {
  test(`a module ${JSON.stringify(code)} is rewritten`, () => assert.equal(body(code, 'module'), expected));
}

for (const code of [
  'import "./a.js"; window.x = 1',
  'let top = 2;\nexport { top };',
  'window.a = 1\nexport default 1',
]) {
  test(`${JSON.stringify(code)} is rewritten as a module, because it can be nothing else`, () => {
    assert.equal(rewriteScript(code, 'classic', links()), rewriteScript(code, 'module', links()));
  });
}

for (const code of ['x = 1', 'function f() { return 2 }', '', 'var data = {"a": 1}']) {
  test(`${JSON.stringify(code)} is not rewritten`, () => assert.equal(rewriteScript(code, 'classic', links()), code));
}

for (const [code, name] of [
  ['var top = 1; window', 'top'],
  ['window; if (a) { var parent = 2 }', 'parent'],
  ['window; var a = 1, self = this', 'self'],
  ['const { location } = window', 'location'],
  ['function frames() {} window', 'frames'],
  ['window; let opener', 'opener'],
  [`x = {} / 2 + '/"'; var globalThis = this`, 'globalThis'],
] as const) {
  test(`${JSON.stringify(code)} keeps its own ${name}`, () => {
    const text = rewriteScript(code, 'classic', links());
    assert.ok(!text.includes(`let ${name}=`), text);
    assert.doesNotThrow(() => new Script(text));
  });
}

for (const [code, name] of [
  ['var { location: place } = window', 'location'],
  ['const { a = window.b } = c', 'window'],
  ['let [a = self.b, { top: d }] = window', 'self'],
  ['let [a = self.b, { top: d }] = window', 'top'],
] as const) {
  test(`${JSON.stringify(code)} does not declare ${name}`, () => {
    const text = rewriteScript(code, 'classic', links());
    assert.ok(text.includes(`let ${name}=`), text);
    assert.doesNotThrow(() => new Script(text));
  });
}

for (const code of ['window; var { ...top } = x', 'window; var { a: top } = x', 'window; var [, top = 1] = x']) {
  test(`${JSON.stringify(code)} keeps its own top`, () => {
    assert.ok(!rewriteScript(code, 'classic', links()).includes('let top='));
  });
}

test('a module may use --> as an operator', () => {
  assert.equal(body('window; if (a <!--b) f(this)', 'module'), `window; if (a <!--b) f(${THIS})`);
});

test('the next script sees what a wrapped script declares, and `top` is the stand-in', () => {
  const context = createContext({});
  const run = (code: string) => runInContext(rewriteScript(code, 'classic', links()), context);
  runInContext(
    `var self = globalThis, window = self, real = self;
     var standIn = { name: 'stand-in', location: {} };
     self._wb_wombat = { local_init: function (name) { return name === 'window' ? standIn : undefined; } };
     Object.defineProperty(Object.prototype, '_____WB$wombat$check$this$function_____', { value: function (object) { return object === real ? standIn : object; } });`,
    context,
  );
  run(
    `var a = window.name; let b = 'let'; const c = 'const'; function d() { return this } async function e() {} function* f() {} class G { get() { return window.name } }\n;[1].concat(window)`,
  );
  run(`window.seen = [a, b, c, d().name, typeof e, typeof f, new G().get()].join()`);
  assert.equal(runInContext('standIn.seen', context), 'stand-in,let,const,stand-in,function,function,stand-in');
});

test('a rewritten script still parses', () => {
  const piece = fc.constantFrom(
    'window',
    'this',
    'location = 1',
    'location += 1',
    'eval',
    ';',
    '\n',
    '(a)',
    '{}',
    '[1]',
    '"s"',
    "'t'",
    `\`u$\{1}v\``,
    '/r/g',
    '+',
    'let x = 1;',
    'var top = 2;',
    'function f() {}',
    'class A {}',
    'if (a) {}',
    '=> 1',
    '// c\n',
    '/* d */',
    'a.b',
    'x.postMessage(1)',
    '++',
    '?',
    ':',
    '=',
    ',',
  );
  const isScript = (code: string) => {
    try {
      return Boolean(new Script(code));
    } catch {
      return false;
    }
  };
  let valid = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const code = pieces.join(' ');
      const rewritten = rewriteScript(code, 'classic', links());
      if (!isScript(code)) return;
      valid++;
      assert.ok(isScript(rewritten), `${code}\n${rewritten}`);
    }),
    { numRuns: 4000 },
  );
  assert.ok(valid > 50, `only ${valid} of them were scripts`);
});

test('a script of one line with very many divisions is rewritten fast', () => {
  const code = `window;${"x=/'[';".repeat(200_000)}`;
  assert.ok(rewriteScript(code, 'classic', links()).length > code.length);
});

test('any text is rewritten without an error', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      (text) => void rewriteScript(`window ${text}`, 'module', links()),
    ),
  );
});
