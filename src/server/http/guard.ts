/**
 * Who may call the API. Pages of other sites may not, archived pages least of all: a browser says where a request comes
 * from, and what does not come from our own page is refused. Who writes must show the token; who reads may show it, to
 * be told more. A wrong token costs a moment, so that guessing does not pay.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { HttpProblem } from './problem.ts';

const WRONG_TOKEN_MS = 400;
/** Wrong tokens that may wait at one time; more are refused at once, which tells them nothing either. */
const WAITING_MAX = 32;

export class Guard {
  readonly #origin: string;
  readonly #tokenDigest: Buffer;
  #waiting = 0;

  constructor(uiOrigin: string, token: string) {
    this.#origin = uiOrigin;
    this.#tokenDigest = sha256Of(token);
  }

  /** Refuses requests that a page of another origin made. */
  checkOrigin(request: IncomingMessage): void {
    const { origin, host } = request.headers;
    const site = request.headers['sec-fetch-site'];
    // The page may have been opened by another of our names; that Host is one of them was looked at before.
    const isOurs = origin === this.#origin || (host !== undefined && origin === `http://${host}`);
    const isForeign = origin !== undefined && !isOurs;
    // A page on another port of this host is of the same site, and still not ours.
    const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (!isForeign && !isOtherSite) return;
    throw new HttpProblem({
      status: 403,
      code: 'ORIGIN_REFUSED',
      message: 'the API answers no pages but its own',
      advice: 'Open the web page of this server itself, or call the API from a program.',
      where: origin,
    });
  }

  /** Whether the request shows the token. A wrong one is refused: who shows one means to be told more. */
  async hasToken(request: IncomingMessage): Promise<boolean> {
    if (request.headers.authorization === undefined) return false;
    await this.checkToken(request);
    return true;
  }

  async checkToken(request: IncomingMessage): Promise<void> {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    // Digests have one length, so that the time of comparing tells nothing of the token, not even how long it is.
    if (given !== undefined && timingSafeEqual(sha256Of(given), this.#tokenDigest)) return;
    if (given !== undefined && this.#waiting < WAITING_MAX) {
      this.#waiting++;
      await wait(WRONG_TOKEN_MS).finally(() => this.#waiting--);
    }
    throw new HttpProblem({
      status: 401,
      code: given === undefined ? 'TOKEN_MISSING' : 'TOKEN_WRONG',
      message: given === undefined ? 'this takes the token of the server' : 'this is not the token of the server',
      advice: 'Send `Authorization: Bearer TOKEN` with the token that the server printed when it started.',
      fields: { 'www-authenticate': 'Bearer' },
    });
  }
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
