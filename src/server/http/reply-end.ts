/**
 * Ends replies that are whole, those of one turn of the event loop in a row.
 *
 * A client that sleeps must be woken for the first bytes it gets, and waking another processor can cost the sender more
 * than making a small reply does, on virtual machines above all. Replies that follow at once find the client awake. No
 * reply waits longer than it takes to look at what else has arrived already.
 */
import type { ServerResponse } from 'node:http';

type Whole = { readonly response: ServerResponse; readonly body: Uint8Array | undefined };

/** What this turn has to send, of all sockets of the program. */
let ready: Whole[] = [];

/** Ends a reply whose head is set with this body, which whoever asks for the head alone does not get. */
export function endReply(response: ServerResponse, body?: Uint8Array): void {
  if (ready.length === 0) setImmediate(endAll);
  ready.push({ response, body: response.req.method === 'HEAD' ? undefined : body });
}

function endAll(): void {
  const replies = ready;
  ready = [];
  for (const { response, body } of replies) response.end(body);
}
