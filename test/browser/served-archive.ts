/** A served archive with the UI, on two origins, for the tests of replay. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import type { Browser, Frame, Page } from 'playwright-core';
import { buildUi } from '../../scripts/ui.ts';
import type { Archive } from '../../src/archive/index.ts';
import { REPLAY_FRAME_NAME } from '../../src/replay/index.ts';
import { startServer } from '../../src/server/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';
import { launchChromium, newCheckedPage } from './chromium.ts';
import { type SiteFile, storeSite } from './sample-site.ts';

export const TOKEN = 'token-of-the-archivist';

export type ServedArchive = {
  readonly uiOrigin: string;
  readonly replayOrigin: string;
  /** The method and path of the requests that reached the origin of the UI. */
  readonly uiRequests: string[];
};

/** Builds the UI for the tests of one file. */
export async function builtUi(): Promise<{ directory: string; remove: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-replay-ui-'));
  const { directory: pages } = await buildUi(join(directory, 'pages'));
  return { directory: pages, remove: () => rm(directory, { recursive: true, force: true }) };
}

export async function serveArchive(
  t: TestContext,
  archive: Archive,
  uiDirectory: string,
  host = '127.0.0.1',
): Promise<ServedArchive> {
  const uiRequests: string[] = [];
  const server = await startServer({
    archive,
    host,
    port: 0,
    replayPort: 0,
    uiDirectory,
    token: TOKEN,
    clock: archive.clock,
    newId: archive.newId,
    version: '0.0.0',
    jobKinds: [],
    onAccess: ({ socket, method, target }) => {
      if (socket === 'ui') uiRequests.push(`${method} ${target}`);
    },
  });
  t.after(() => server.close({ force: AbortSignal.abort() }));
  return { uiOrigin: server.uiUrl, replayOrigin: server.replayUrl, uiRequests };
}

/** Waits for the frame in which the UI shows a capture. */
export async function replayFrame(page: Page): Promise<Frame> {
  const element = await page.waitForSelector(`iframe[name="${REPLAY_FRAME_NAME}"]`);
  const frame = await element.contentFrame();
  if (!frame) throw new Error('the frame shows nothing');
  if (frame.url() === '' || frame.url() === 'about:blank') {
    await page.waitForEvent('framenavigated', (navigated) => navigated === frame);
  }
  return frame;
}

/** One browser and one build of the UI for the tests of a file. */
export type Stage = { readonly browser: Browser; readonly uiDirectory: string };

/** Starts the browser and builds the UI before the tests of a file, and removes both after them. */
export function setStage(): Stage {
  let browser: Browser | undefined;
  let ui: Awaited<ReturnType<typeof builtUi>> | undefined;
  before(async () => {
    [browser, ui] = await Promise.all([launchChromium(), builtUi()]);
  });
  after(async () => {
    await browser?.close();
    await ui?.remove();
  });
  return {
    get browser() {
      return browser!;
    },
    get uiDirectory() {
      return ui!.directory;
    },
  };
}

/** Serves an archive with a site, and opens one of its pages in a browser. */
export async function openSite(t: TestContext, stage: Stage, files: readonly SiteFile[], path: string) {
  const archive = await makeArchive(t);
  await storeSite(archive, files);
  const origins = await serveArchive(t, archive, stage.uiDirectory);
  const checked = await newCheckedPage(stage.browser, [origins.uiOrigin, origins.replayOrigin]);
  t.after(() => checked.page.context().close());
  await checked.page.goto(`${origins.uiOrigin}${path}`);
  return { ...checked, ...origins, archive, frame: await replayFrame(checked.page) };
}
