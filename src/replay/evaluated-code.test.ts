import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EvaluatedCode } from './in-page/evaluated-code.ts';
import { CHANGED_LOCATION, CHECK_LOCATION, STAND_INS } from './rewrite/script-rewriter.ts';

const evaluated = new EvaluatedCode({
  standIns: STAND_INS,
  checkLocation: CHECK_LOCATION,
  changedLocation: CHANGED_LOCATION,
  originalFieldPrefix: 'x-',
});
const THIS = '_____WB$wombat$check$this$function_____(this)';

for (const [code, expected] of [
  ['location = x', `location = ${CHECK_LOCATION} x`],
  ['location += x', `${CHANGED_LOCATION} += x`],
  ['a ? location = x : 0', `a ? location = ${CHECK_LOCATION} x : 0`],
  ['f(this)', `f(${THIS})`],
  ['return this', `return ${THIS}`],
  ['this.location', `${THIS}.location`],
  ['this === window', `${THIS} === window`],
] as const) {
  test(`${code} is rewritten`, () => assert.equal(evaluated.rewritten(code), expected));
}

for (const code of [
  'var location = 1',
  'location == x',
  'location => x',
  'a.location = x',
  '"location = x"',
  '`location = x`',
  '/\\?location=/.test(a)',
  'this.a',
  'return this.a',
  'new this()',
  "'f(this)'",
]) {
  test(`${code} stays as it is`, () => assert.equal(evaluated.rewritten(code), code));
}

test('all names that code declares at its top are found, also in a list', () => {
  for (const [code, names] of [
    ['var top = 1', ['top']],
    ['var a = 1, self = 2;', ['self']],
    ['var a = f(1, top), b', []],
    ['function f(a, top) {}', []],
    ['var a = { b: 1, parent }', []],
    ['a(), top = 1', []],
  ] as const)
    assert.deepEqual(evaluated.declaredNames(code), names, code);
});

test('only code that mentions the window is compiled inside another function', () => {
  for (const code of ['window.a', 'return this', 'eval(a)', 'x = top']) assert.ok(evaluated.mentionsWindow(code), code);
  for (const code of ['a + b', 'stopped', 'this.a']) assert.ok(!evaluated.mentionsWindow(code), code);
});
