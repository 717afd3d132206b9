/**
 * A token for one collection tries to learn by digests what another collection holds, over every route. Each try is
 * made with a content that is held there and with one that is not: the replies have to be the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFrame, seededRandom } from '../../src/base/index.ts';
import { served, TOKEN } from '../api/served-archive.ts';
import { ContentCalls, newToken, sha256 } from './content-client.ts';

const SEED = 20240301;
const PAIRS = 28;
const LANES = 2;

type Content = { readonly text: string; readonly digest: string };
type Try = (
  calls: ContentCalls,
  content: Content,
  number: number,
) => Promise<{ status: number; headers: Headers; bytes: Buffer }>;

/** Tries that carry no bytes of the content, and then those that do. */
const TRIES: readonly Try[] = [
  (calls, { digest }) => calls.missing([digest]),
  (calls, { digest }) => calls.missing([sha256('other'), digest]),
  (calls, { digest }) => calls.call(`/api/contents/${digest}`),
  (calls, { digest }) => calls.call(`/api/contents/secret:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/contents/${digest}`, { method: 'HEAD' }),
  (calls, { digest }) => calls.call(`/api/contents/${digest}`, { headers: { range: 'bytes=0-1' } }),
  (calls, { digest }) => calls.call(`/api/contents/${digest}`, { headers: { 'if-none-match': `"${digest}"` } }),
  (calls, { digest }) => calls.call(`/api/contents/${digest}/upload`),
  (calls, { digest }, n) => calls.post(`a${n}`, [{ digest }], { collection: 'own', keys: true }),
  (calls, { digest }, n) => calls.post(`b${n}`, [{ digest, url: `http://own.test/${n}` }], { collection: 'own' }),
  (calls, { digest }, n) => calls.post(`c${n}`, [{ digest }], { collection: 'secret' }),
  (calls, { digest, text }) => records(calls, reference(digest, text.length)),
  (calls, { digest }, n) => calls.call(`/api/contents/${digest}?request=x${n}`, { method: 'DELETE' }),
  (calls, { text, digest }) =>
    calls.call(`/api/contents/${digest}?size=${text.length}`, {
      method: 'PUT',
      body: Buffer.from(text.replace(/.$/, '!')),
    }),
  (calls, { digest }) => calls.call(`/cdx?url=*.test&filter=digest:${digest}`),
  (calls, { digest }) => calls.call(`/cdx?url=urn:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/web/2024/urn:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/captures?url=urn:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/urls?prefix=urn:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/calendar?url=urn:sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/stream?order=url&key=sha256:${digest}`),
  (calls, { digest }) => calls.call(`/api/search?q=${digest}`),
  (calls, { digest }) =>
    calls.call('/api/deletes/preview', { json: { selection: { key: `sha256:${digest}`, all: true } } }),
  (calls, { digest }) => calls.call('/api/takedowns/preview', { json: { keys: [`sha256:${digest}`] } }),
  (calls, { digest }) =>
    calls.call('/api/jobs', { json: { kind: 'export', input: { format: 'wacz', selection: { key: digest } } } }),
  // From here on the client has the bytes.
  (calls, { text }) => calls.put(text),
  (calls, { digest }) => calls.missing([digest]),
  (calls, { digest }) => calls.call(`/api/contents/${digest}/upload`),
  (calls, { digest }, n) => calls.post(`d${n}`, [{ digest }, { digest }], { collection: 'own', keys: true }),
  (calls, { digest }, n) => calls.post(`d${n}`, [{ digest }, { digest }], { collection: 'own', keys: true }),
  (calls, { digest }) => calls.missing([digest]),
  (calls, { digest }) => calls.call(`/api/contents/${digest}`),
  (calls, { digest }, n) => calls.call(`/api/contents/${digest}?request=y${n}`, { method: 'DELETE' }),
  (calls, { digest }, n) => calls.call(`/api/contents/${digest}?request=z${n}`, { method: 'DELETE' }),
  (calls, { digest }) => calls.missing([digest]),
  (calls, { digest }, n) => calls.call(`/api/contents/${digest}?request=z2${n}`, { method: 'DELETE' }),
];

/** Tries that take longer, made less often. */
const SLOW_TRIES: readonly Try[] = [
  (calls, { text }, n) => records(calls, formatFrame('W', record(text, n))),
  (calls, { text }, n) => records(calls, formatFrame('W', record(text, n))),
];

function record(text: string, number: number): Buffer {
  const block = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n${text}`;
  const id = `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}>`;
  const head = `WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: ${id}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nWARC-Target-URI: http://own.test/${number}\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: ${block.length}\r\n\r\n`;
  return Buffer.from(`${head}${block}\r\n\r\n`);
}

function reference(digest: string, size: number): Buffer {
  const head = record('', 1).subarray(0, -4);
  return Buffer.concat([formatFrame('H', head), formatFrame('P', JSON.stringify({ digest, size }))]);
}

function records(calls: ContentCalls, body: Uint8Array) {
  return calls.call('/api/contents/records?collection=own&extension=.warc', { body });
}

test('a token without rights on a collection learns by digest of nothing that it holds, in 1,000 tries over every route', async (t) => {
  const one = await served(t);
  t.diagnostic(`seed ${SEED}`);
  const random = seededRandom(SEED);
  const operator = new ContentCalls(one, TOKEN);
  const token = await newToken(one.directory, 'limited', ['read', 'add', 'crawl', 'delete'], {
    collections: ['own', 'none'],
  });
  const calls = new ContentCalls(one, token);
  const newContent = (): Content => {
    const text = Array.from({ length: 200 }, () =>
      Math.floor(random() * 2 ** 32)
        .toString(36)
        .padStart(7, '0'),
    ).join(' ');
    return { text, digest: sha256(text) };
  };
  let tries = 0;
  const tryPair = async (pair: number) => {
    const [held, absent] = [newContent(), newContent()];
    await operator.put(held.text);
    const url = pair % 2 === 0 ? {} : { url: `http://secret.test/${pair}` };
    const captures = [{ digest: held.digest, ...url }, { digest: held.digest }];
    await operator.post(`secret ${pair}`, captures, { collection: 'secret' });
    for (const [index, attempt] of [...TRIES, ...(pair < 3 ? SLOW_TRIES : [])].entries()) {
      const [first, second] = await Promise.all([
        answered(() => attempt(calls, held, 2 * pair), held),
        answered(() => attempt(calls, absent, 2 * pair + 1), absent),
      ]);
      tries++;
      assert.deepEqual(first, second, `try ${index} of pair ${pair}`);
    }
  };
  const pairs = Array.from({ length: PAIRS }, (_, pair) => pair).values();
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const pair of pairs) await tryPair(pair);
    }),
  );
  assert.ok(tries > 1000, `${tries}`);
  // The tries would have found what they looked for: the operator does.
  const { digest, text } = newContent();
  await operator.put(text);
  await operator.post('last', [{ digest }], { collection: 'secret' });
  const [seen, hidden] = [await operator.missing([digest]), await calls.missing([digest])];
  assert.deepEqual([seen.json.missing, hidden.json.missing], [[], [0]]);
  assert.equal((await one.archive.verify()).errors, 0);
});

/** What a client sees of a reply, without the content and its digest. */
async function answered(attempt: () => ReturnType<Try>, { text, digest }: Content): Promise<object> {
  const { status, headers, bytes } = await attempt();
  const names = [...headers].map(
    ([name, value]) => `${name}: ${name === 'date' ? '' : value.replaceAll(digest, 'digest')}`,
  );
  const body = bytes.toString().replaceAll(digest, 'digest').replaceAll(text, 'text');
  return { status, names, body: body.replace(/own\.test\/\d+/g, 'own.test/') };
}
