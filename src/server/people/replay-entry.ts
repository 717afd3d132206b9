/**
 * `/auth/enter?ticket=...&to=/web/...` on the replay socket: exchanges a ticket for the cookie of the replay origin,
 * and goes on to the archived page. Archived scripts run in this origin. The cookie is hidden from them and opens
 * nothing but archived pages; the cookie of the web page never gets here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpProblem, requireReading } from '../http/problem.ts';
import { framedCookie } from './cookie.ts';
import { type People, REPLAY_COOKIE } from './people.ts';

export const REPLAY_ENTRY = '/auth/enter';

export async function enterReplay(
  people: People,
  replayOrigin: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  requireReading(request);
  const { searchParams } = new URL(request.url!, replayOrigin);
  const to = URL.parse(searchParams.get('to') ?? '', replayOrigin);
  const secret = await people.useTicket(searchParams.get('ticket') ?? '');
  if (secret === undefined || to?.origin !== replayOrigin) throw new HttpProblem(TICKET_ENDED);
  const seconds = Math.floor(people.longestMs / 1000);
  response.writeHead(302, {
    location: to.href,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'set-cookie': framedCookie(replayOrigin, { name: REPLAY_COOKIE, value: secret, seconds }),
    'content-length': 0,
  });
  response.end();
}

const TICKET_ENDED = {
  status: 401,
  code: 'TICKET_ENDED',
  message: 'the archived page was not opened in time',
  advice: 'Open it again from the web page of the archive.',
};
