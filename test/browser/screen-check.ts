/** Checks that apply to every screen: it fits the window, is readable, and all of its controls have names. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { Page } from 'playwright-core';
import type { PageRecord } from './chromium.ts';

const NAMED_ROLES = [
  'button',
  'checkbox',
  'combobox',
  'Iframe',
  'link',
  'progressbar',
  'radio',
  'searchbox',
  'spinbutton',
  'textbox',
];

const FACTS_SCRIPT = buildSync({
  entryPoints: [fileURLToPath(new URL('./in-page/screen-facts.ts', import.meta.url))],
  bundle: true,
  format: 'iife',
  globalName: 'facts',
  write: false,
}).outputFiles[0]!.text;

type ScreenFacts = {
  readonly title: string;
  readonly language: string;
  /** The number of pixels by which the page is wider than the window. */
  readonly overflow: number;
  readonly headings: number;
  readonly landmarks: readonly string[];
  readonly idsTwice: readonly string[];
  readonly faintTexts: readonly string[];
  readonly faintFields: readonly string[];
  readonly smallTargets: readonly string[];
};

/** `hasMasthead` is false for a replayed page, which does not have the navigation. */
export async function checkScreen(
  page: Page,
  record: PageRecord,
  { where, hasMasthead = true }: { readonly where: string; readonly hasMasthead?: boolean },
): Promise<void> {
  assert.deepEqual(record.consoleErrors, [], `${where}: errors on the console`);
  assert.deepEqual(record.outsideRequests, [], `${where}: requests to elsewhere`);
  const facts = await page.evaluate<ScreenFacts>(`(() => { ${FACTS_SCRIPT}; return facts.screenFacts(); })()`);
  assert.notEqual(facts.title, '', `${where}: no title`);
  assert.equal(facts.language, 'en', `${where}: no language`);
  assert.ok(facts.overflow <= 0, `${where}: ${facts.overflow} pixels too wide`);
  assert.equal(facts.headings, 1, `${where}: main headings`);
  assert.deepEqual(facts.landmarks, hasMasthead ? ['header', 'main', 'nav', 'footer'] : ['header', 'main'], where);
  assert.deepEqual(facts.idsTwice, [], `${where}: duplicate ids`);
  assert.deepEqual(facts.faintTexts, [], `${where}: texts with too little contrast`);
  assert.deepEqual(facts.faintFields, [], `${where}: fields with too little contrast`);
  assert.deepEqual(facts.smallTargets, [], `${where}: targets that are too small`);
  assert.deepEqual(await namelessControls(page), [], `${where}: controls without a name`);
}

/** Controls without an accessible name, in the accessibility tree of the browser. */
async function namelessControls(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  await session.detach();
  return nodes
    .filter(({ ignored, role, name }) => {
      return !ignored && NAMED_ROLES.includes(role?.value) && String(name?.value ?? '').trim() === '';
    })
    .map(({ role, backendDOMNodeId }) => `${role?.value} ${backendDOMNodeId}`);
}
