/**
 * A browser: one process of Chromium, without a window, that renders one page at a time.
 *
 * The browser has no network. Every request of a page, frame or worker in it is paused and passed to `onRequest`, which
 * returns the answer. Connections that cannot be paused, such as sockets, go to a proxy that does not exist, and names
 * do not resolve. This process controls the browser over a pipe. When this process ends for any reason, the pipe closes
 * and the browser ends.
 */
import { rm } from 'node:fs/promises';
import type { Browser, CDPSession } from 'playwright-core';
import { PinakesError } from '../../base/index.ts';
import { makeBrowserDirectory, markProfile } from './browser-leftovers.ts';
import { MemoryWatch } from './browser-memory.ts';

/** A paused request (`Fetch.requestPaused`). */
export type PausedRequest = {
  readonly id: string;
  readonly url: string;
  readonly method: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The body of the request; undefined when there is none, or when the browser does not show it. */
  readonly body: Uint8Array | undefined;
  readonly hasBody: boolean;
  /** The resource type as the protocol names it: Document, Image, XHR... */
  readonly type: string;
  readonly frame: string;
};

export type BrowserAnswer = {
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
};

/** Answers a paused request. If it returns undefined, the request fails. */
export type OnRequest = (request: PausedRequest) => Promise<BrowserAnswer | undefined>;

export type BrowserOptions = {
  readonly path: string;
  readonly isSandboxed: boolean;
  /** How much memory the browser may use, including its page. */
  readonly bytesMax: number;
};

const START_MS_MAX = 60_000;
const END_MS_MAX = 5_000;

const FLAGS = [
  '--proxy-server=http://nowhere.invalid:1',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  // WebRTC sends datagrams without the proxy and the resolver.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--disable-quic',
  '--block-new-web-contents',
  '--disable-gpu',
  '--no-pings',
  '--disable-domain-reliability',
];

const SANDBOX_TROUBLE = /no usable sandbox|sandboxing failed|without --no-sandbox|setuid sandbox|namespace/i;

export class BrowserProcess {
  readonly browser: Browser;
  readonly #session: CDPSession;
  readonly #pid: number | undefined;
  readonly #directory: string;
  readonly #watch: MemoryWatch;
  /** The target ids of open pages: the rendered page, and the popups that it opened. */
  readonly windows = new Set<string>();
  /** Answers every request. While it is undefined, all requests fail. */
  onRequest: OnRequest | undefined;
  /** How many pages the browser has rendered. */
  uses = 0;
  /** Whether the browser was killed because it used too much memory. */
  isOverMemory = false;

  private constructor(
    browser: Browser,
    session: CDPSession,
    pid: number | undefined,
    directory: string,
    bytesMax: number,
  ) {
    this.browser = browser;
    this.#session = session;
    this.#pid = pid;
    this.#directory = directory;
    const processes = async () => (await session.send('SystemInfo.getProcessInfo')).processInfo.map(({ id }) => id);
    this.#watch = new MemoryWatch(processes, bytesMax, () => {
      this.isOverMemory = true;
      this.kill();
    });
    browser.on('disconnected', () => this.#watch.stop());
  }

  static async start({ path, isSandboxed, bytesMax }: BrowserOptions): Promise<BrowserProcess> {
    // Loading this takes long, so it is loaded for the first browser.
    const { chromium } = await import('playwright-core');
    let browser: Browser | undefined;
    let directory: string | undefined;
    try {
      directory = await makeBrowserDirectory();
      browser = await chromium.launch({
        executablePath: path,
        chromiumSandbox: isSandboxed,
        args: FLAGS,
        artifactsDir: directory,
        // This lets the browser block popups without a click, as it does for users.
        ignoreDefaultArgs: ['--disable-popup-blocking'],
        timeout: START_MS_MAX,
        handleSIGINT: false,
        handleSIGTERM: false,
        handleSIGHUP: false,
      });
      const session = await browser.newBrowserCDPSession();
      const { processInfo } = await session.send('SystemInfo.getProcessInfo');
      const pid = processInfo.find(({ type }) => type === 'browser')?.id;
      await markProfile((await session.send('SystemInfo.getInfo')).commandLine, directory);
      const process = new BrowserProcess(browser, session, pid, directory, bytesMax);
      await process.#interceptRequests();
      return process;
    } catch (cause) {
      await browser?.close().catch(() => {});
      if (directory !== undefined) await removeDirectory(directory);
      const said = cause instanceof Error ? cause.message : String(cause);
      const code = isSandboxed && SANDBOX_TROUBLE.test(said) ? 'BROWSER_SANDBOX' : 'BROWSER_FAILED';
      throw new PinakesError(code, { where: path, detail: lastLines(said), cause });
    }
  }

  async #interceptRequests(): Promise<void> {
    const session = this.#session;
    session.on('Target.targetCreated', ({ targetInfo }) => {
      if (targetInfo.type === 'page') this.windows.add(targetInfo.targetId);
    });
    session.on('Target.targetDestroyed', ({ targetId }) => this.windows.delete(targetId));
    await session.send('Target.setDiscoverTargets', { discover: true });
    session.on('Fetch.requestPaused', ({ requestId, request, resourceType, frameId }) => {
      const { url, method, headers, hasPostData = false, postDataEntries } = request;
      const pieces = (postDataEntries ?? []).map(({ bytes }) => bytes);
      const isThere = pieces.length > 0 && pieces.every((piece) => piece !== undefined);
      const body = isThere ? Buffer.concat(pieces.map((piece) => Buffer.from(piece!, 'base64'))) : undefined;
      void this.#answer({
        id: requestId,
        url: url.replace(/#.*$/s, ''),
        method: method.toUpperCase(),
        fields: headers,
        body: hasPostData ? body : undefined,
        hasBody: hasPostData,
        type: resourceType,
        frame: frameId,
      });
    });
    await session.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
  }

  /** Never throws. If the browser has ended or has cancelled the request, it needs no answer. */
  async #answer(request: PausedRequest): Promise<void> {
    try {
      const answer = await this.onRequest?.(request).catch(() => undefined);
      if (!answer) return await this.#fail(request);
      const { status, fields, body } = answer;
      await this.#session
        .send('Fetch.fulfillRequest', {
          requestId: request.id,
          responseCode: status,
          responseHeaders: fields.map(([name, value]) => ({ name, value })),
          body: Buffer.from(body.buffer, body.byteOffset, body.length).toString('base64'),
        })
        .catch(() => this.#fail(request));
    } catch {
      // The browser has ended.
    }
  }

  async #fail({ id }: PausedRequest): Promise<void> {
    await this.#session.send('Fetch.failRequest', { requestId: id, errorReason: 'Aborted' });
  }

  get isAlive(): boolean {
    return this.browser.isConnected();
  }

  /** Closes the browser, and kills it if it does not end in time. */
  async end(): Promise<void> {
    this.onRequest = undefined;
    const closing = this.browser.close().catch(() => {});
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, END_MS_MAX);
    await Promise.race([closing, late]);
    clearTimeout(timer);
    if (this.browser.isConnected()) this.kill();
    await removeDirectory(this.#directory);
  }

  kill(): void {
    try {
      if (this.#pid !== undefined) process.kill(this.#pid, 'SIGKILL');
    } catch {
      // The browser had already ended.
    }
  }
}

function removeDirectory(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true }).catch(() => {});
}

const CALL_LOG = /^[\s=|-]*$|<launching>|Call log|Browser logs|^browserType\.launch: Target page/;

/** The first lines that a browser wrote when it failed to start, without the call log around them. */
function lastLines(said: string): string {
  const lines = said.split('\n').filter((line) => /\S/.test(line) && !CALL_LOG.test(line));
  return lines.slice(0, 3).join(' ').slice(0, 400);
}
