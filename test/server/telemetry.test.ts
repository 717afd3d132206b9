/** What a server measures of its calls, and the traces that it sends. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { ContentsClient } from '../../src/client/index.ts';
import { Telemetry } from '../../src/server/index.ts';
import { contentOf, makeArchive, page, temporaryDirectory } from '../archive/trial-archive.ts';
import { pinakes, startPinakes } from '../journeys/pinakes-process.ts';
import { startVolumeServerProcess } from '../volume-server/volume-server-process.ts';
import { ask, makeServer } from './trial-server.ts';

const TIME = Date.UTC(2024, 2, 1, 10);

test('commits and requests to buckets are timed by their outcome', async (t) => {
  const telemetry = new Telemetry(() => performance.now());
  const archive = await makeArchive(t, { observe: telemetry.observe });
  const { server } = await makeServer(t, { archive, telemetry });
  const metrics = async () => (await ask(server.uiAddress, '/metrics')).text;
  await archive.store(page('http://site.test/a', TIME, contentOf('a')));
  const before = await metrics();
  const commits = Number(
    /^pinakes_ledger_commit_duration_seconds_count\{outcome="committed"\} (\d+)$/m.exec(before)![1],
  );
  assert.ok(commits > 0);
  assert.match(before, new RegExp(`^pinakes_ledger_commits_total ${commits}$`, 'm'));
  assert.match(before, /^pinakes_leases_held 0$/m);
  assert.doesNotMatch(before, /s3_request_duration_seconds_count/);

  await using volumeServer = await startVolumeServerProcess();
  process.env.AWS_ACCESS_KEY_ID = volumeServer.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = volumeServer.secretAccessKey;
  const { endpoint, bucket } = volumeServer;
  await archive.addVolume({ name: 'far', path: `s3://${bucket}/far`, endpoint });
  const putsNow = async () => {
    const counts = (await metrics()).matchAll(
      /^pinakes_s3_request_duration_seconds_count\{volume="far",operation="put",outcome="\w+"\} (\d+)$/gm,
    );
    const timed = Array.from(counts, ([, count]) => Number(count)).reduce((sum, count) => sum + count, 0);
    const { puts } = (await archive.nodes()).find(({ name }) => name === 'far')!.bucket!;
    return { timed, puts };
  };
  const first = await putsNow();
  await archive.store(page('http://site.test/b', TIME, contentOf('b')), { volume: 'far' });
  const second = await putsNow();
  assert.ok(second.puts > first.puts);
  assert.equal(second.timed - first.timed, second.puts - first.puts);
});

type SentSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[];
};

/** A collector of OpenTelemetry. Keeps what it is sent. */
async function startCollector(t: TestContext): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = [];
  const collector = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.url === '/v1/traces') bodies.push(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  t.after(() => {
    collector.closeAllConnections();
    collector.close();
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(collector.address() as { port: number }).port}`, bodies };
}

test('with OTEL_EXPORTER_OTLP_ENDPOINT a server sends traces of its requests, without anything that was read', async (t) => {
  const { url, bodies } = await startCollector(t);
  const cwd = await temporaryDirectory(t);
  assert.equal(pinakes(cwd, 'init', 'archive').code, 0);
  Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_SERVICE_NAME: 'reader-2' });
  const child = startPinakes(cwd, 'serve', '--json', '--no-index', '--port', '0', '--replay-port', '0');
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  delete process.env.OTEL_SERVICE_NAME;
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout! }), 'line');
  const { uiAddress, token } = JSON.parse(String(line)) as { uiAddress: string; token: string };
  const client = new ContentsClient(uiAddress, { token });
  const content = Buffer.from('a secret page');
  const captures = [{ url: 'http://site.test/private', mime: 'text/plain', content }];
  assert.equal((await client.store(captures, { id: randomUUID(), time: new Date(TIME) })).stored, 1);
  const [traceId, parentId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const headers = { traceparent: `00-${traceId}-${parentId}-01` };
  assert.equal((await ask(uiAddress, '/cdx?url=http://site.test/private', { headers })).status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);

  const all = bodies.join();
  for (const secret of ['site.test', 'secret', token]) assert.ok(!all.includes(secret), secret);
  const resources = bodies.flatMap((body) => JSON.parse(body).resourceSpans);
  assert.match(JSON.stringify(resources[0].resource), /"service.name","value":\{"stringValue":"reader-2"\}/);
  const spans = resources.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap((scope: { spans: SentSpan[] }) => scope.spans),
  ) as SentSpan[];
  const continued = spans.find((span) => span.traceId === traceId)!;
  assert.deepEqual([continued.name, continued.parentSpanId], ['GET cdx', parentId]);
  const commit = spans.find(({ name }) => name === 'ledger commit')!;
  const parent = spans.find(({ spanId }) => spanId === commit.parentSpanId)!;
  assert.deepEqual([parent.name, parent.traceId], ['POST api', commit.traceId]);
  const attributes = Object.fromEntries(parent.attributes.map(({ key, value }) => [key, value]));
  assert.equal(Number(attributes['http.response.status_code']!.intValue), 200);
});
