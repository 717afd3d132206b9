/**
 * A server on a trial archive, and plain requests to the server. (Node's fetch hides header fields that these tests
 * check.)
 */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import type { Archive } from '../../src/archive/index.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server/index.ts';
import { makeArchive } from '../archive/trial-archive.ts';

export const TOKEN = 'trial-token-0123456789';

export type TrialServer = { readonly archive: Archive; readonly server: RunningServer; readonly failures: unknown[] };

export type Reply = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
};

/** Starts a server on free ports until the end of the test. `failures` collects errors of the server. */
export async function makeServer(t: TestContext, options: Partial<ServerOptions> = {}): Promise<TrialServer> {
  const archive = options.archive ?? (await makeArchive(t));
  const failures: unknown[] = [];
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: TOKEN,
    clock: archive.clock,
    newId: archive.newId,
    version: '0.0.0',
    jobKinds: [],
    onFailure: (error) => failures.push(error),
    ...options,
  });
  t.after(() => server.close({ force: AbortSignal.abort() }));
  return { archive, server, failures };
}

export type AskOptions = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

/** Sends one request with its target unchanged. Redirects are not followed. */
export function ask(
  address: string,
  target: string,
  { method = 'GET', headers = {}, body }: AskOptions = {},
): Promise<Reply> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, path: target, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => {
        const whole = Buffer.concat(pieces);
        resolve({ status: response.statusCode!, headers: response.headers, body: whole, text: whole.toString('utf8') });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
