/** Storing into an archive whose server is behind TLS, as on the open network. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { scratch, served, writeWarc } from '../api/served-archive.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../crawl/test-certificate.ts';
import { newToken, runWith } from './content-client.ts';

/** A server that ends TLS and passes requests on. Returns its address by the name in its certificate. */
async function behindTls(t: TestContext, target: string): Promise<string> {
  const server = createServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const passed = request(new URL(url!, target), { method, headers: { ...headers, host: new URL(target).host } });
    passed.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      pipeline(answer, outgoing, () => {});
    });
    pipeline(incoming, passed, () => {});
  });
  server.listen(0);
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return `https://secure.test:${(server.address() as AddressInfo).port}`;
}

test('add stores over https, and sends nothing to a server whose certificate is not trusted', async (t) => {
  const cwd = scratch(t);
  const one = await served(t);
  const token = await newToken(one.directory, 'adder', ['add', 'read']);
  mkdirSync(join(cwd, 'files'));
  await writeWarc(join(cwd, 'files/a.warc.gz'), 'a', 2);
  writeFileSync(join(cwd, 'authority.pem'), TEST_CERTIFICATE);
  const address = await behindTls(t, one.server.uiAddress);
  const name = pathToFileURL(join(import.meta.dirname, 'secure-name.ts')).href;
  const environment = { PINAKES_TOKEN: token, NODE_OPTIONS: `--import=${name}` };
  const add = ['add', 'files', '--archive', address, '--json'];
  const distrusted = await runWith(cwd, environment, add);
  assert.notEqual(distrusted.code, 0);
  assert.match(distrusted.err, /REMOTE_GONE/);
  assert.match(distrusted.err, /certificate/);
  assert.equal((await one.archive.totals()).captures, 0);
  const trusting = { ...environment, NODE_EXTRA_CA_CERTS: join(cwd, 'authority.pem') };
  const added = await runWith(cwd, trusting, add);
  assert.equal(added.code, 0, added.err);
  assert.equal((JSON.parse(added.out) as { captures: number }).captures, 2);
  assert.equal((await one.archive.totals()).captures, 2);
  assert.equal((await one.archive.verify()).errors, 0);
});
