import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { bundleInPage, inPageScript, scriptJson } from './in-page-script.ts';

/** Runs a script in an empty page, and returns the names that the script defined. */
function namesDefinedBy(script: string, given: object): string[] {
  const page = createContext({ ...given });
  runInContext('var self = this;', page);
  const before = Object.keys(page);
  runInContext(script, page);
  return Object.keys(page).filter((name) => !before.includes(name));
}

test('the page script defines one name, which the head of the page calls', () => {
  assert.deepEqual(namesDefinedBy(inPageScript('page', {}), {}), ['pinakesReplay']);
});

test('the worker script defines no name of its own', () => {
  assert.deepEqual(namesDefinedBy(inPageScript('worker', 'x-'), { WBWombat: class {}, location: {} }), []);
});

test('a page in the frame of replay is reported to the window around it', () => {
  const messages: unknown[] = [];
  const parent = { postMessage: (...values: unknown[]) => messages.push(JSON.stringify(values)) };
  const script = inPageScript('frame-report', { url: 'http://example.org/</script>' }, 'http://ui.test');
  assert.ok(!script.includes('</script'));
  assert.deepEqual(namesDefinedBy(script, { parent, top: parent }), []);
  assert.deepEqual(messages, ['[{"url":"http://example.org/</script>"},"http://ui.test"]']);
});

test('a page that is not directly in the window of the web interface reports nothing', () => {
  const parent = { postMessage: () => assert.fail('a message was sent') };
  runInContext(inPageScript('frame-report', {}, '*'), createContext({ self: {}, parent, top: {} }));
});

test('values in a script end neither the script nor a line', () => {
  const value = { text: '</script>&\u2028\u2029' };
  assert.equal(scriptJson(value), '{"text":"\\u003c/script\\u003e\\u0026\\u2028\\u2029"}');
  assert.deepEqual(JSON.parse(scriptJson(value)), value);
});

test('older browsers can parse the scripts: they have no lookbehind and no syntax later than ES2017', () => {
  for (const [name, text] of bundleInPage()) {
    assert.doesNotMatch(text, /\(\?<[=!]/, `${name} looks behind`);
    assert.doesNotMatch(text, /\?\.[A-Za-z_[(]|\?\?(?!\)=)|catch\s*\{/, `${name} has later syntax`);
  }
});

test('functions that pages see keep their names', () => {
  const page = bundleInPage().get('page')!;
  for (const name of ['fetch', 'getAttribute', 'setAttribute', 'getResponseHeader', 'postMessage']) {
    assert.ok(page.includes(`=function ${name}(`), name);
  }
});
