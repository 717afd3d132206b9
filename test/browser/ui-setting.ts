/** The setting for tests of the UI: the built UI, a served archive and a browser. All are removed at the end. */
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { Type } from 'typebox';
import { buildUi } from '../../scripts/ui.ts';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom } from '../../src/base/index.ts';
import { type JobKind, type RunningServer, type ServerOptions, startServer } from '../../src/server/index.ts';
import { type CheckedPage, launchChromium, newCheckedPage } from './chromium.ts';

export const TOKEN = 'token-of-the-tests';

/** The time that a screen may take on a busy machine. */
const SCREEN_TIMEOUT_MS = 20_000;

export const WIDE: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, colorScheme: 'light' };
export const PHONE: BrowserContextOptions = { viewport: { width: 375, height: 740 }, colorScheme: 'dark' };

/** A kind of job that the UI does not know. It runs until it is cancelled. */
const ENDLESS: JobKind = {
  name: 'gather',
  lane: 'gather',
  input: Type.Object({
    seeds: Type.Array(Type.String(), { description: 'Where it begins.' }),
    collection: Type.Optional(Type.String()),
    pagesMax: Type.Optional(Type.Integer({ minimum: 1, description: 'Ends after so many pages.' })),
  }),
  run: ({ signal, progress, say }) =>
    new Promise((_, reject) => {
      say('fetching the first page');
      progress({ done: 3, total: 10, unit: 'pages', message: 'http://library.example/' });
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

type SettingOptions = {
  readonly isIndexing?: boolean;
  readonly connectorText?: string;
  readonly server?: Partial<ServerOptions>;
};

export class UiSetting implements AsyncDisposable {
  readonly browser: Browser;
  readonly archive: Archive;
  readonly server: RunningServer;
  readonly directory: string;

  private constructor(browser: Browser, archive: Archive, server: RunningServer, directory: string) {
    this.browser = browser;
    this.archive = archive;
    this.server = server;
    this.directory = directory;
  }

  /** `isIndexing`: the server also updates the search index. `connectorText`: further lines of `archive.yaml`. */
  static async start(
    fill: (archive: Archive) => Promise<void>,
    { isIndexing = false, connectorText = '', server: given = {} }: SettingOptions = {},
  ): Promise<UiSetting> {
    const directory = await mkdtemp(join(tmpdir(), 'pinakes-ui-'));
    const path = join(directory, 'library');
    const launching = launchChromium();
    const { directory: uiDirectory } = await buildUi(join(directory, 'pages'));
    await createArchive(path, {});
    await appendFile(join(path, 'archive.yaml'), connectorText);
    const clock = () => Date.now();
    const archive = await openArchive(path, { clock, newId: seededIds(seededRandom(7)) });
    await fill(archive);
    const server = await startServer({
      archive,
      host: '127.0.0.1',
      port: 0,
      replayPort: 0,
      uiDirectory,
      token: TOKEN,
      clock,
      newId: seededIds(seededRandom(8)),
      version: '0.0.0',
      jobKinds: [ENDLESS],
      isIndexing,
      ...given,
    });
    return new UiSetting(await launching, archive, server, directory);
  }

  /** Opens a page that may send requests only to this server, and to other origins of a test. */
  async open(
    options: BrowserContextOptions = WIDE,
    others: readonly string[] = [],
  ): Promise<CheckedPage & AsyncDisposable> {
    const origins = [this.server.uiUrl, this.server.replayUrl, ...others];
    const checked = await newCheckedPage(this.browser, origins, options);
    checked.page.setDefaultTimeout(SCREEN_TIMEOUT_MS);
    return { ...checked, [Symbol.asyncDispose]: () => checked.page.context().close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.server.close({ force: AbortSignal.abort() });
    await this.archive.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
