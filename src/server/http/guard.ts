/**
 * Decides who may call the API. The guard refuses requests from pages of other sites, above all from archived pages.
 * Browsers report the origin of a request. Writing needs the token. Some reads return more with the token. The reply to
 * a wrong token is delayed, to make guessing slow.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { HttpProblem } from './problem.ts';

const WRONG_TOKEN_DELAY_MS = 400;
/** How many refusals may be delayed at one time. Further refusals are sent at once, which reveals nothing either. */
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
    // The page may have been opened under another name of this server. The Host field was checked before.
    const isOwnPage = origin === this.#origin || (host !== undefined && origin === `http://${host}`);
    const isForeign = origin !== undefined && !isOwnPage;
    // A page on another port of this host has the same site, but another origin than the API.
    const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none';
    if (!isForeign && !isOtherSite) return;
    throw new HttpProblem({
      status: 403,
      code: 'ORIGIN_REFUSED',
      message: 'the API refuses requests from pages of other origins',
      advice: 'Use the web page of this server, or call the API from a program.',
      where: origin,
    });
  }

  /** Whether the request has the token. Throws for a wrong token. */
  async hasToken(request: IncomingMessage): Promise<boolean> {
    if (request.headers.authorization === undefined) return false;
    await this.checkToken(request);
    return true;
  }

  async checkToken(request: IncomingMessage): Promise<void> {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    // Comparing digests, which have equal lengths, reveals nothing about the token, not even its length.
    if (given !== undefined && timingSafeEqual(sha256Of(given), this.#tokenDigest)) return;
    if (given !== undefined && this.#waiting < WAITING_MAX) {
      this.#waiting++;
      await wait(WRONG_TOKEN_DELAY_MS).finally(() => this.#waiting--);
    }
    throw new HttpProblem({
      status: 401,
      code: given === undefined ? 'TOKEN_MISSING' : 'TOKEN_WRONG',
      message: given === undefined ? 'the request needs the token of the server' : 'the token is wrong',
      advice: 'Send `Authorization: Bearer TOKEN` with the token that the server printed when it started.',
      fields: { 'www-authenticate': 'Bearer' },
    });
  }
}

function sha256Of(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
