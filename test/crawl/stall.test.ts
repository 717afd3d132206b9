/**
 * The process is blocked for longer than every time limit of a fetch. A body that arrived during the block is whole.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { FETCH_DEFAULTS, type FetchSettings, HttpFetcher } from '../../src/crawl/index.ts';
import { BODY_BYTES } from './stall-server.ts';

const SHORT_MS = 200;
const STALL_MS = 600;

let server: Worker;
let ports: { http1: number; http2: number };

before(async () => {
  server = new Worker(new URL('./stall-server.ts', import.meta.url));
  [ports] = (await once(server, 'message')) as [typeof ports];
});
after(() => server.terminate());

/** Blocks this thread. */
function stall(): void {
  const end = performance.now() + STALL_MS;
  while (performance.now() < end);
}

type Moment = 'before the head' | 'before the body' | 'within the body' | 'while waiting for more';

async function fetchWhole(url: string, bounds: Partial<FetchSettings>, moment: Moment): Promise<void> {
  const fetcher = new HttpFetcher({
    ...FETCH_DEFAULTS,
    clock: Date.now,
    allowPrivate: true,
    anyCertificate: true,
    ...bounds,
  });
  try {
    // The connection is open before the clock of the exchange starts.
    const first = await fetcher.fetch({ url });
    assert.equal(first.kind, 'exchange');
    if (first.kind === 'exchange') for await (const _ of first.body);
    const fetching = fetcher.fetch({ url });
    if (moment === 'before the head') setImmediate(stall);
    const fetched = await fetching;
    assert.equal(fetched.kind, 'exchange', `${moment}: ${JSON.stringify(fetched)}`);
    if (fetched.kind !== 'exchange') return;
    if (moment === 'before the body') stall();
    let bytes = 0;
    for await (const piece of fetched.body) {
      if (bytes === 0 && moment === 'within the body') stall();
      // The next read begins to wait in this turn of the event loop, before the stall.
      if (bytes === 0 && moment === 'while waiting for more') setImmediate(stall);
      bytes += piece.length;
    }
    assert.equal(fetched.truncated(), undefined, moment);
    assert.equal(bytes, BODY_BYTES, moment);
  } finally {
    await fetcher.close();
  }
}

const MOMENTS: readonly Moment[] = ['before the head', 'before the body', 'within the body', 'while waiting for more'];
const BOUNDS: readonly (readonly [string, Partial<FetchSettings>])[] = [
  ['idle and head times', { idleTimeoutMs: SHORT_MS, headTimeoutMs: SHORT_MS }],
  [
    'slowness and the time of the exchange',
    { slowAfterMs: SHORT_MS, bytesPerSecondMin: 1_000_000, exchangeTimeoutMs: 2 * SHORT_MS },
  ],
];

for (const [name, bounds] of BOUNDS)
  for (const protocol of ['http1', 'http2'] as const)
    test(`a stalled process does not cut a body that has arrived: ${name}, ${protocol}`, async () => {
      const url = protocol === 'http1' ? `http://127.0.0.1:${ports.http1}/` : `https://127.0.0.1:${ports.http2}/`;
      for (const moment of MOMENTS) await fetchWhole(url, bounds, moment);
    });
