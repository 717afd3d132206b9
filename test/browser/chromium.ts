/**
 * A real Chromium for the tests. A development package has it, and it is unpacked once into the temporary directory.
 * The tests were written for the version in the package. A machine for which the package has no program uses the
 * Chromium on its PATH.
 *
 * The browser can reach only loopback addresses. The name of the machine resolves to one of them, and every other name
 * fails to resolve. Web security is on, because the tests depend on it.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const TRIES_MAX = 400;
const SYSTEM_NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--no-default-browser-check',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-dev-shm-usage',
  '--disable-sync',
  '--disable-domain-reliability',
  '--disable-features=OptimizationHints,MediaRouter,Translate',
  '--metrics-recording-only',
  '--no-pings',
  `--host-resolver-rules=MAP ${hostname()} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost`,
];

const ARTEFACTS = new URL('../../test-artefacts/', import.meta.url);

/**
 * The program file of the browser, for code that starts browsers itself. The environment of this process says where its
 * fonts are.
 */
export async function chromiumProgram(): Promise<string> {
  const path = await chromiumPath();
  process.env.FONTCONFIG_PATH ??= join(path, '..', 'fonts');
  return path;
}

/** Starts a browser with a new profile, which is deleted when the browser ends. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = await chromiumPath();
  const fonts = join(executablePath, '..', 'fonts');
  const env = { ...process.env, FONTCONFIG_PATH: process.env.FONTCONFIG_PATH ?? fonts };
  // The default flags would disable parts of the browser that are tested here.
  return chromium.launch({ executablePath, args: FLAGS, ignoreDefaultArgs: ['--disable-popup-blocking'], env });
}

/** The recorded actions of a page. */
export type PageRecord = {
  /** Errors on the console, and uncaught exceptions. */
  readonly consoleErrors: string[];
  /** Every request to an origin that was not allowed, answered or not. */
  readonly outsideRequests: string[];
  /** Every request. */
  readonly requests: string[];
};

export type CheckedPage = { readonly page: Page; readonly record: PageRecord };

/**
 * A page in a new context. It records errors and every request outside of the allowed origins, also of pages that it
 * opens.
 */
export async function newCheckedPage(
  browser: Browser,
  allowedOrigins: readonly string[],
  options: BrowserContextOptions = {},
): Promise<CheckedPage> {
  const context = await browser.newContext(options);
  const record: PageRecord = { consoleErrors: [], outsideRequests: [], requests: [] };
  context.on('request', (request) => {
    const url = request.url();
    record.requests.push(url);
    if (!isInside(url, allowedOrigins)) record.outsideRequests.push(url);
  });
  context.on('console', (message) => {
    if (message.type() === 'error') record.consoleErrors.push(message.text());
  });
  context.on('weberror', (error) => record.consoleErrors.push(String(error.error())));
  return { page: await context.newPage(), record };
}

function isInside(url: string, allowedOrigins: readonly string[]): boolean {
  const parsed = URL.parse(url);
  if (!parsed) return false;
  if (parsed.protocol === 'data:' || parsed.protocol === 'about:') return true;
  return allowedOrigins.includes(parsed.origin);
}

/**
 * Waits until the page shows what a test expects. It polls from here, because the policy of the page does not let
 * Playwright evaluate text in it.
 */
export async function until(read: () => Promise<string>, wanted: RegExp): Promise<void> {
  const shown = () => read().catch(onTheWay);
  for (let tries = 0; !wanted.test(await shown()); tries++) {
    assert.ok(tries < TRIES_MAX, `it is ${await shown()}`);
    await delay(50);
  }
}

/** A page that is navigating shows nothing. */
function onTheWay(error: unknown): string {
  if (/Execution context was destroyed/.test(String(error))) return '';
  throw error;
}

/** Saves a screenshot among the artefacts of the test run, and returns its path. */
export async function screenshot(page: Page, name: string): Promise<string> {
  await mkdir(ARTEFACTS, { recursive: true });
  const path = new URL(`${name}.png`, ARTEFACTS).pathname;
  await page.screenshot({ path, fullPage: true });
  return path;
}

async function chromiumPath(): Promise<string> {
  const wanted = process.env.PINAKES_CHROMIUM;
  if (wanted) return wanted;
  if (process.platform === 'linux' && process.arch === 'x64') return unpackedPath();
  const directories = (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
  for (const name of SYSTEM_NAMES) {
    for (const directory of directories) {
      const path = join(directory, name);
      if (await isThere(path, constants.X_OK)) return path;
    }
  }
  throw new Error('There is no Chromium on the PATH; name one in PINAKES_CHROMIUM.');
}

/**
 * The package unpacks into the temporary directory and takes any file there for complete, so two tests at once could
 * start an incomplete browser. A process unpacks into a directory of its own, and then renames it to the shared one.
 */
async function unpackedPath(): Promise<string> {
  const { version } = createRequire(import.meta.url)('../../node_modules/@sparticuz/chromium/package.json') as {
    version: string;
  };
  const shared = join(tmpdir(), `pinakes-chromium-${version}-with-fonts`);
  const path = join(shared, 'chromium');
  if (await isThere(path, constants.X_OK)) return path;
  const own = await mkdtemp(`${shared}-`);
  const program = `import('@sparticuz/chromium').then((module) => module.default.executablePath())`;
  const cwd = new URL('../..', import.meta.url).pathname;
  await promisify(execFile)(process.execPath, ['-e', program], { cwd, env: { ...process.env, TMPDIR: own } });
  await writeFile(join(own, 'fonts', 'fonts.conf'), fontList(join(shared, 'fonts')));
  await rename(own, shared).catch(async () => {
    // Another process renamed its directory before.
    await rm(own, { recursive: true, force: true });
  });
  return path;
}

/**
 * The font list of the package names directories of another platform. A browser that finds no font at all crashes.
 */
function fontList(directory: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${directory}</dir><cachedir>${join(directory, 'cache')}</cachedir></fontconfig>
`;
}

async function isThere(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
