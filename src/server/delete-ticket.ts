/**
 * Tickets for deletions. A deletion needs the ticket of a preview, and removes exactly the captures of the preview. A
 * ticket is
 *
 * ```
 *   <expires, ms in base 36>.<fingerprint of the captures>.<HMAC over these and the selection>
 * ```
 * where fingerprint and HMAC are base64url. The server stores no tickets. The HMAC proves that the server issued the
 * ticket, and a new fingerprint of the captures shows whether they have changed.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Archive, type CaptureReader, type Selection, selectCaptures } from '../archive/index.ts';
import type { Clock } from '../base/index.ts';
import { HttpProblem } from './http/problem.ts';
import type { DeletionInput } from './schema.ts';
import { deletionOf } from './selection-input.ts';

const VALID_MS = 60 * 60 * 1000;

export class DeleteTickets {
  readonly #archive: Archive;
  readonly #key: string | Uint8Array;
  readonly #clock: Clock;

  constructor(archive: Archive, key: string | Uint8Array, clock: Clock) {
    this.#archive = archive;
    this.#key = key;
    this.#clock = clock;
  }

  /** Issues a ticket for the captures of a selection in a view of the catalog. */
  async issue(input: DeletionInput, view: CaptureReader, signal: AbortSignal): Promise<string> {
    const expires = (this.#clock() + VALID_MS).toString(36);
    const captures = await fingerprint(view, await deletionOf(this.#archive, input), signal);
    return `${expires}.${captures}.${this.#sign(expires, captures, input)}`;
  }

  /** Throws unless the ticket is for this selection, and the selection has the same captures in this view. */
  async check(ticket: string, input: DeletionInput, view: CaptureReader, signal: AbortSignal): Promise<void> {
    this.checkSignature(ticket, input);
    const captures = ticket.split('.')[1];
    if ((await fingerprint(view, await deletionOf(this.#archive, input), signal)) === captures) return;
    throw refused('the selected captures have changed since the preview');
  }

  /** Throws unless this server issued the ticket for this selection, and it has not expired. */
  checkSignature(ticket: string, input: DeletionInput): void {
    const [expires = '', captures = '', signature = ''] = ticket.split('.');
    const expected = Buffer.from(this.#sign(expires, captures, input));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw refused('the token is not from a preview of this selection');
    if (Number.parseInt(expires, 36) < this.#clock()) throw refused('the preview is too old');
  }

  #sign(expires: string, captures: string, input: DeletionInput): string {
    const selection = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
    return createHmac('sha256', this.#key)
      .update(JSON.stringify(['delete', expires, captures, selection]))
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
    advice: 'Request a preview with POST /api/deletes/preview, check it, and send its token.',
  });
}
