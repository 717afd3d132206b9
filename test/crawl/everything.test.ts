import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crawl } from '../../src/crawl/index.ts';
import { allCaptures, audit, bytesOf, makeArchive } from '../archive/trial-archive.ts';
import { BODY_BYTES_MAX, setUpEverything, TestWeb } from './test-web.ts';

const DELAY_MS = 5;

test('a crawl of a web with every kind of behaviour ends, makes exactly the expected captures, and breaks no rule', async (t) => {
  const web = await TestWeb.start();
  t.after(() => web.stop());
  const { seeds, expected, forbidden } = setUpEverything(web);
  const archive = await makeArchive(t, { clock: Date.now });
  const report = await crawl(
    archive,
    seeds,
    {
      collection: 'everything',
      allowPrivate: true,
      anyCertificate: true,
      delayMs: DELAY_MS,
      delayFactor: 0,
      hostConcurrency: 2,
      retries: 1,
      retryDelayMs: 30,
      fetch: { idleTimeoutMs: 700, headTimeoutMs: 1500, bodyBytesMax: BODY_BYTES_MAX, headBytesMax: 16_384 },
    },
    { resolve: web.resolve },
  );
  const captures = await allCaptures(archive);

  await t.test('it made exactly the expected captures, with the right status', () => {
    const found = captures.map(({ url, status }) => `${status} ${url}`).sort();
    assert.deepEqual(found, [...expected].map(([url, { status }]) => `${status} ${url}`).sort());
  });

  await t.test('cut bodies are marked with the reason', async () => {
    for (const capture of captures) {
      const { head } = await archive.open(capture);
      if (capture.kind === 'response')
        assert.equal(head.get('warc-truncated'), expected.get(capture.url)?.truncated, capture.url);
    }
  });

  await t.test('the bytes of the server are recorded unchanged, with their framing', async () => {
    const { head, http } = await archive.get(web.url('site.test', '/trailers'));
    assert.equal(http?.get('transfer-encoding'), 'chunked');
    assert.equal(head.get('warc-ip-address'), '127.0.0.1');
    assert.equal(head.get('warc-protocol'), 'http/1.1');
    assert.equal((await bytesOf((await archive.get(web.url('site.test', '/trailers'))).payload)).toString(), 'hello');
    const odd = await archive.get(web.url('site.test', '/line-feeds'));
    assert.equal(
      Buffer.from(odd.http!.bytes).toString(),
      'HTTP/1.1 200 OK\nContent-Type : text/html\nConnection: close\nContent-Length: 4\n\n',
    );
  });

  await t.test('HTTP/2 is written as HTTP/1.1, and the record names the protocol', async () => {
    const { head, http } = await archive.get(web.url('secure.test', '/more'));
    assert.match(http!.startLine, /^HTTP\/1\.1 200/);
    const protocols = head.fields.filter(({ name }) => name === 'WARC-Protocol').map(({ value }) => value);
    assert.deepEqual(protocols, ['h2', 'tls/1.3']);
    assert.match(head.get('warc-cipher-suite') ?? '', /^TLS_/);
  });

  await t.test('it requested nothing that robots.txt or nofollow forbid', () => {
    const requested = new Set(web.requestLog.map(({ path }) => path));
    assert.deepEqual(
      forbidden.filter((path) => requested.has(path)),
      [],
    );
    assert.deepEqual(
      web.requests('closed.test').map(({ path }) => path),
      ['/robots.txt'],
    );
    assert.deepEqual(new Set(web.requests('failing.test').map(({ path }) => path)), new Set(['/robots.txt']));
    assert.deepEqual(web.requests('moved-rules.test', '/no'), []);
    assert.deepEqual(web.requests('site.test', '/form'), []);
    for (const host of new Set(web.requestLog.map((entry) => entry.host)))
      assert.equal(web.requests(host)[0]!.path, '/robots.txt', `the first request to ${host} was for its rules`);
  });

  await t.test('it never sent more requests to a host at a time, or sooner, than allowed', () => {
    for (const [host, most] of web.concurrency) assert.ok(most <= 2, `${host} had ${most} requests at a time`);
    assert.equal(web.concurrency.get('patient.test'), 1);
    const times = captures
      .filter(({ url }) => url.includes('//patient.test'))
      .map(({ time }) => time)
      .sort();
    for (let index = 2; index < times.length; index++)
      assert.ok(
        times[index]! - times[index - 1]! >= 300,
        `patient.test was requested again after ${times[index]! - times[index - 1]!} ms`,
      );
  });

  await t.test('it named itself, and repeated requests only for a reason', () => {
    for (const { fields } of web.requestLog) assert.match(fields['user-agent'] ?? '', /pinakes/);
    const counts = new Map<string, number>();
    for (const { host, path } of web.requestLog) counts.set(`${host}${path}`, (counts.get(`${host}${path}`) ?? 0) + 1);
    // On a reused connection, these bytes may belong to an earlier answer. So the URL is requested again on a new
    // connection.
    const notHttp = 'site.test/not-http';
    assert.ok(counts.get(notHttp)! <= 2);
    const twice = [...counts]
      .filter(([path, times]) => times > 1 && path !== notHttp)
      .map(([path]) => path)
      .sort();
    assert.deepEqual(twice, [
      'failing.test/robots.txt',
      'site.test/busy',
      'site.test/reset',
      'site.test/silent',
      'site.test/unavailable',
    ]);
  });

  await t.test('the report contains all this, and is stored in the collection', async () => {
    assert.equal(report.outcome, 'done');
    assert.equal(report.queued, 0);
    assert.equal(report.counts.captures, captures.length);
    assert.equal(report.counts.truncated, 3);
    assert.deepEqual(report.counts.failures, {
      'head-too-large': 1,
      'no-response': 1,
      'not-http': 1,
      dns: 1,
      'robots-unreachable': 1,
      timeout: 1,
    });
    assert.ok(
      report.counts.traps['repeating-path']! >= 1 &&
        report.counts.traps.calendar! >= 1 &&
        report.counts.traps.variant! >= 1,
    );
    const reports: string[] = [];
    for await (const record of await archive.stream({ selection: { types: ['metadata'] } }))
      reports.push(String(record.head.targetUri));
    assert.ok(reports.includes('urn:pinakes:crawl:everything:1'));
  });

  await t.test('the archive passes verification', async () => {
    assert.deepEqual(await audit(archive), []);
    assert.equal((await archive.verify()).errors, 0);
  });
});
