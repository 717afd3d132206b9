/**
 * Tickets for deletions: who deletes must have seen what would go, and what goes must be what was seen. A ticket is
 *
 * ```
 *   <expires, ms in base 36>.<fingerprint of the captures>.<HMAC over these and the selection>
 * ```
 * all but the first as base64url. The server keeps nothing: whether a ticket is its own it can tell by the key, and
 * whether it still holds by looking again.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Archive, type CaptureReader, type Selection, selectCaptures } from '../archive/index.ts';
import type { Clock } from '../base/index.ts';
import { selectionOf } from './asked-selection.ts';
import { HttpProblem } from './http/problem.ts';
import type { Selection as AskedSelection } from './shape.ts';

const LIFE_MS = 60 * 60 * 1000;

export class DeleteTickets {
  readonly #archive: Archive;
  readonly #key: string;
  readonly #clock: Clock;

  constructor(archive: Archive, key: string, clock: Clock) {
    this.#archive = archive;
    this.#key = key;
    this.#clock = clock;
  }

  /** For what a view of the catalog has of the selection. */
  async issue(asked: AskedSelection, view: CaptureReader, signal: AbortSignal): Promise<string> {
    const expires = (this.#clock() + LIFE_MS).toString(36);
    const seen = await fingerprint(view, selectionOf(this.#archive, asked), signal);
    return `${expires}.${seen}.${this.#seal(expires, seen, asked)}`;
  }

  /** Throws unless the ticket is for this selection and the selection means in this view what it meant. */
  async check(ticket: string, asked: AskedSelection, view: CaptureReader, signal: AbortSignal): Promise<void> {
    this.checkSeal(ticket, asked);
    const seen = ticket.split('.')[1];
    if ((await fingerprint(view, selectionOf(this.#archive, asked), signal)) === seen) return;
    throw refused('what would be deleted has changed since it was shown');
  }

  /** Throws unless the ticket was issued here, for this selection, and not long ago. */
  checkSeal(ticket: string, asked: AskedSelection): void {
    const [expires = '', seen = '', seal = ''] = ticket.split('.');
    const right = Buffer.from(this.#seal(expires, seen, asked));
    const given = Buffer.from(seal);
    if (given.length !== right.length || !timingSafeEqual(given, right))
      throw refused('the token is not of a preview of this selection');
    if (Number.parseInt(expires, 36) < this.#clock()) throw refused('the preview is too old');
  }

  #seal(expires: string, seen: string, asked: AskedSelection): string {
    const selection = Object.entries(asked).sort(([a], [b]) => (a < b ? -1 : 1));
    return createHmac('sha256', this.#key)
      .update(JSON.stringify(['delete', expires, seen, selection]))
      .digest('base64url');
  }
}

async function fingerprint(view: CaptureReader, selection: Selection, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const page of selectCaptures(view, selection)) {
    signal.throwIfAborted();
    for (const { urlKey, time, hash: number, collection } of page)
      hash.update(`${urlKey}\n${time} ${number} ${collection}\n`);
  }
  return hash.digest('base64url');
}

function refused(message: string): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'DELETE_UNSEEN',
    message,
    advice: 'Ask for a preview with POST /api/deletes/preview, look at it, and send its token.',
  });
}
