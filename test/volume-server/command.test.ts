/** `pinakes volume serve` and `pinakes volume key` as commands: encryption, keys, the lock, refusals, stopping. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { TEST_CERTIFICATE, TEST_KEY } from '../crawl/test-certificate.ts';
import { pinakes } from '../journeys/pinakes-runner.ts';
import { codeOf, send, sendSigned } from './signed-request.ts';
import { startVolumeServerProcess } from './volume-server-process.ts';

const PUT = { method: 'PUT', target: '/archive/a', body: 'body' };

test('keys are added and removed while the server runs, and it stops gracefully', async () => {
  await using server = await startVolumeServerProcess({ args: ['--access-log', '-'] });
  const key = (...args: string[]) => pinakes(server.directory, 'volume', 'key', ...args, '--dir', '.');
  const { code, out } = await key('add', 'second', '--prefix', 'archive/deep/', '--rights', 'read', '--json');
  assert.equal(code, 0);
  const { accessKeyId, secret, ...rest } = JSON.parse(out) as Record<string, string>;
  assert.deepEqual(rest, { name: 'second', rights: 'read', bucket: 'archive', prefix: 'deep/' });
  const second = { accessKeyId: accessKeyId!, secretAccessKey: secret! };
  const list = { target: '/archive?list-type=2' };
  assert.equal((await sendSigned(server.endpoint, second, list)).status, 200);
  const listed = (await key('ls')).out;
  assert.match(listed, new RegExp(`second +${accessKeyId} +read +archive/deep/`));
  assert.ok(!listed.includes(secret!) && !(await key('ls', '--json')).out.includes(secret!));
  for (const args of [
    ['second', '--prefix', 'archive'],
    ['Third', '--prefix', 'archive'],
    ['third', '--prefix', 'Archive'],
    ['third', '--prefix', 'archive/../other'],
    ['third', '--prefix', 'archive', '--rights', 'all'],
  ])
    assert.match((await key('add', ...args)).err, /BAD_ARGUMENT/, args.join(' '));
  assert.equal((await key('rm', 'second')).code, 0);
  assert.equal(codeOf(await sendSigned(server.endpoint, second, list)), 'InvalidAccessKeyId');
  assert.match((await key('rm', 'second')).err, /BAD_ARGUMENT/);
  await send(server.endpoint, { target: '/archive/a?X-Amz-Signature=secret' });
  await server.stop();
  assert.equal(server.child.exitCode, 0);
  assert.match(server.said(), /"target":"\/archive\/a\?X-Amz-Signature=-","protocol":"HTTP\/1.1","status":400/);
  assert.doesNotMatch(server.said(), /secret/);
});

test('one server at a time uses a folder, and one without keys is not served', async () => {
  await using server = await startVolumeServerProcess();
  const serve = (...args: string[]) => pinakes(server.directory, 'volume', 'serve', ...args);
  assert.match((await serve('.', '--listen', '127.0.0.1:0')).err, /FILE_BUSY/);
  await mkdir(join(server.directory, 'empty'));
  assert.match((await serve('empty', '--listen', '127.0.0.1:0')).err, /VOLUME_KEYS_MISSING/);
  assert.match((await serve('nowhere', '--listen', '127.0.0.1:0')).err, /FILE_MISSING/);
  assert.match((await serve('.', '--listen', '0.0.0.0:0')).err, /BAD_ARGUMENT/);
  assert.match((await serve('.', '--listen', 'localhost')).err, /BAD_ARGUMENT/);
  assert.match((await serve('.', '--tls-cert', 'cert.pem')).err, /BAD_ARGUMENT/);
});

test('connections are encrypted with a certificate, and plain ones are not served', async () => {
  await using first = await startVolumeServerProcess();
  await first.stop();
  const [cert, key] = [join(first.directory, 'cert.pem'), join(first.directory, 'key.pem')];
  await writeFile(cert, TEST_CERTIFICATE);
  await writeFile(key, TEST_KEY);
  const on = { directory: first.directory, key: first };
  await using server = await startVolumeServerProcess({ on, args: ['--tls-cert', cert, '--tls-key', key] });
  assert.match(server.endpoint, /^https:/);
  const trusted = { ca: TEST_CERTIFICATE, servername: 'secure.test' };
  assert.equal((await sendSigned(server.endpoint, server, { ...PUT, ...trusted })).status, 200);
  const large = { ...PUT, target: '/archive/large', body: Buffer.alloc(3_000_000, 'large'), ...trusted };
  assert.equal((await sendSigned(server.endpoint, server, large)).status, 200);
  assert.equal(
    (await sendSigned(server.endpoint, server, { target: '/archive/large', ...trusted })).text.length,
    3_000_000,
  );
  await assert.rejects(send(server.endpoint.replace('https', 'http'), { target: '/_health' }));
});

test('a start removes what a crash left, and changes no object', async () => {
  await using first = await startVolumeServerProcess();
  assert.equal((await sendSigned(first.endpoint, first, PUT)).status, 200);
  await first.kill();
  const reserved = join(first.directory, '.pinakes-s3');
  const hash = 'ab'.repeat(20);
  await writeFile(join(reserved, 'drafts', `archive~${hash}~${'0'.repeat(32)}`), 'half of an object');
  await mkdir(join(reserved, 'uploads', '1'.repeat(32)));
  await using server = await first.restart();
  const { text, headers } = await sendSigned(server.endpoint, server, { target: '/archive/a' });
  assert.deepEqual([text, headers.etag], ['body', '"841a2d689ad86bd1611447453c22c6fc"']);
  await assert.rejects(readFile(join(reserved, 'drafts', `archive~${hash}~${'0'.repeat(32)}`)), { code: 'ENOENT' });
  await assert.rejects(rm(join(reserved, 'uploads', '1'.repeat(32))), { code: 'ENOENT' });
});
