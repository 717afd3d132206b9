/** The volume server under requests that clients of good will do not send, and the parts of S3 that few clients use. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { codeOf, type SignedOptions, send, sendSigned, signed, signedChunks } from './signed-request.ts';
import { startVolumeServerProcess, type VolumeServerProcess } from './volume-server-process.ts';

const MINUTE_MS = 60_000;

suite('volume server', () => {
  let server: VolumeServerProcess;
  const ask = (options: SignedOptions) => sendSigned(server.endpoint, server, options);
  const put = (key: string, options: Partial<SignedOptions> = {}) =>
    ask({ method: 'PUT', target: `/archive/${key}`, body: 'body', ...options });
  const pathOf = (key: string) => join(server.directory, 'archive', key);

  before(async () => {
    server = await startVolumeServerProcess();
  });

  after(() => server[Symbol.asyncDispose]());

  async function refuses(code: string, status: number, key: string, options: Partial<SignedOptions>): Promise<void> {
    const answer = await put(key, options);
    assert.deepEqual([codeOf(answer), answer.status], [code, status], answer.text);
    assert.equal(existsSync(pathOf(key)), false, `${code} left an object`);
  }

  test('objects are plain files, and what S3 keeps beside them is in the reserved folder', async () => {
    assert.equal((await put('a/b/c.warc.gz')).status, 200);
    assert.equal(await readFile(pathOf('a/b/c.warc.gz'), 'utf8'), 'body');
    assert.deepEqual(await readdir(pathOf('a/b')), ['c.warc.gz']);
    assert.deepEqual((await readdir(server.directory)).sort(), ['.pinakes-s3', 'archive']);
    const keys = join(server.directory, '.pinakes-s3/keys');
    for (const file of await readdir(keys)) assert.equal((await stat(join(keys, file))).mode & 0o777, 0o600);
    assert.equal((await stat(join(server.directory, '.pinakes-s3'))).mode & 0o777, 0o700);
  });

  test('an error is a document of S3 with code, message, resource and request id', async () => {
    const { status, headers, text } = await ask({ target: '/archive/no%20such' });
    assert.equal(status, 404);
    assert.equal(headers['content-type'], 'application/xml');
    const id = headers['x-amz-request-id'];
    assert.equal(
      text,
      `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message>` +
        `<Resource>/archive/no%20such</Resource><RequestId>${id}</RequestId></Error>`,
    );
  });

  test('a body that is not what its length, digest, MD5 or checksum says becomes no object', async () => {
    const other = createHash('sha256').update('other').digest();
    await refuses('XAmzContentSHA256Mismatch', 400, 'wrong/sha', { payload: other.toString('hex') });
    const fields = {
      'content-md5': [createHash('md5').update('other').digest('base64'), 'BadDigest'],
      'x-amz-checksum-crc32': ['AAAAAA==', 'BadDigest'],
      'x-amz-checksum-crc32c': ['AAAAAA==', 'BadDigest'],
      'x-amz-checksum-crc64nvme': ['AAAAAAAAAAA=', 'BadDigest'],
      'x-amz-checksum-sha1': [createHash('sha1').update('other').digest('base64'), 'BadDigest'],
      'x-amz-checksum-sha256': [other.toString('base64'), 'BadDigest'],
    };
    for (const [name, [value, code]] of Object.entries(fields)) {
      await refuses(code!, 400, `wrong/${name}`, { headers: { [name]: value! } });
      // Even when the digest of the signature is right for the body.
      await refuses(code!, 400, `wrong/${name}`, { headers: { [name]: value! }, payload: 'UNSIGNED-PAYLOAD' });
    }
    await refuses('InvalidDigest', 400, 'wrong/md5', { headers: { 'content-md5': 'short' } });
    await refuses('InvalidRequest', 400, 'wrong/crc', { headers: { 'x-amz-checksum-crc32': 'short' } });
    await refuses('NotImplemented', 501, 'wrong/kind', { headers: { 'x-amz-checksum-md4': 'AAAAAA==' } });
  });

  test('a body that is cut off becomes no object', async () => {
    const { headers } = signed(server.endpoint, server, {
      method: 'PUT',
      target: '/archive/cut',
      payload: 'UNSIGNED-PAYLOAD',
    });
    const { port, hostname } = new URL(server.endpoint);
    const socket = connect(Number(port), hostname);
    const lines = Object.entries({ ...headers, 'content-length': '1000000' }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    socket.write(`PUT /archive/cut HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${'x'.repeat(300_000)}`);
    const drafts = join(server.directory, '.pinakes-s3/drafts');
    while ((await readdir(drafts)).length === 0) await new Promise(setImmediate);
    socket.destroy();
    while ((await readdir(drafts)).length > 0) await new Promise(setImmediate);
    assert.equal(existsSync(pathOf('cut')), false);
  });

  test('signatures are refused that are wrong, old, of unknown keys, or do not cover every field of S3', async () => {
    const wrong = { ...server, secretAccessKey: 'x'.repeat(40) };
    const options = { method: 'PUT', target: '/archive/forged', body: 'body' };
    assert.equal(codeOf(await sendSigned(server.endpoint, wrong, options)), 'SignatureDoesNotMatch');
    const unknown = { ...server, accessKeyId: 'A'.repeat(20) };
    assert.equal(codeOf(await sendSigned(server.endpoint, unknown, options)), 'InvalidAccessKeyId');
    const climbing = { ...server, accessKeyId: '../../keys/x' };
    assert.notEqual((await sendSigned(server.endpoint, climbing, options)).status, 200);
    assert.equal(codeOf(await send(server.endpoint, options)), 'AccessDenied');
    for (const minutes of [-16, 16]) {
      const time = new Date(Date.now() + minutes * MINUTE_MS);
      await refuses('RequestTimeTooSkewed', 403, 'forged', { time });
    }
    await refuses('AccessDenied', 403, 'forged', { unsigned: { 'x-amz-copy-source': '/archive/secret' } });
    await refuses('AccessDenied', 403, 'forged', { unsigned: { 'x-amz-meta-added': 'later' } });
    assert.equal((await put('right', { time: new Date(Date.now() - 14 * MINUTE_MS) })).status, 200);
    // The query is signed too, and so is the method.
    const { headers } = signed(server.endpoint, server, { target: '/archive?list-type=2&prefix=a' });
    const swapped = await send(server.endpoint, { target: '/archive?list-type=2&prefix=b' }, headers);
    assert.equal(codeOf(swapped), 'SignatureDoesNotMatch');
    assert.equal((await send(server.endpoint, { method: 'DELETE', target: '/archive/right' }, headers)).status, 403);
  });

  test('signed chunks are verified one by one, with their trailer', async () => {
    const text = 'x'.repeat(10_000);
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32(`${text}end`));
    const trailer = `x-amz-checksum-crc32:${crc.toString('base64')}\n`;
    const sendChunks = async (key: string, isTrailed: boolean, bend?: (part: string, at: number) => string) => {
      const options = {
        method: 'PUT',
        target: `/archive/${key}`,
        payload: `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${isTrailed ? '-TRAILER' : ''}`,
        headers: {
          'content-encoding': 'gzip,aws-chunked',
          'x-amz-decoded-content-length': String(text.length + 3),
          ...(isTrailed && { 'x-amz-trailer': 'x-amz-checksum-crc32' }),
        },
      };
      const about = signed(server.endpoint, server, options);
      const chunks = [
        ['chunk', text],
        ['chunk', 'end'],
        ['chunk', ''],
      ] as const;
      const body = signedChunks(about, isTrailed ? [...chunks, ['trailer', trailer] as const] : chunks, bend);
      return send(server.endpoint, { ...options, body }, about.headers);
    };
    for (const isTrailed of [false, true]) {
      const key = `chunked/${isTrailed}`;
      const answer = await sendChunks(key, isTrailed);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(await readFile(pathOf(key), 'utf8'), `${text}end`);
      const head = await ask({
        method: 'HEAD',
        target: `/archive/${key}`,
        headers: { 'x-amz-checksum-mode': 'ENABLED' },
      });
      assert.equal(head.headers['content-encoding'], 'gzip');
      assert.equal(head.headers['x-amz-checksum-crc32'], isTrailed ? crc.toString('base64') : undefined);
      const bent = await sendChunks(`${key}-bent`, isTrailed, (part, at) => (at === 1 ? 'eNd' : part));
      assert.deepEqual([bent.status, codeOf(bent)], [403, 'SignatureDoesNotMatch']);
      const short = await sendChunks(`${key}-short`, isTrailed, (part, at) => (at === 0 ? part.slice(1) : part));
      assert.notEqual(short.status, 200);
    }
    assert.deepEqual((await readdir(pathOf('chunked'))).sort(), ['false', 'true']);
  });

  test('an unsigned body with a trailer is verified by the trailer, which must be there', async () => {
    const chunked = (trailer: string) => ({
      payload: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      headers: { 'x-amz-decoded-content-length': '4', 'x-amz-trailer': 'x-amz-checksum-crc32' },
      body: `4\r\nbody\r\n0\r\n${trailer}\r\n`,
    });
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crc32('body'));
    const right = `x-amz-checksum-crc32:${crc.toString('base64')}\r\n`;
    assert.equal((await put('trailed', chunked(right))).status, 200);
    await refuses('BadDigest', 400, 'trailed-wrong', chunked('x-amz-checksum-crc32:AAAAAA==\r\n'));
    await refuses('InvalidRequest', 400, 'trailed-none', chunked(''));
    const long = { ...chunked(right), body: `5\r\nbody!\r\n0\r\n${right}\r\n` };
    await refuses('IncompleteBody', 400, 'trailed-long', long);
    await refuses('InvalidRequest', 400, 'trailed-odd', { ...chunked(right), body: 'zz\r\n' });
    await refuses('IncompleteBody', 400, 'trailed-cut', { ...chunked(right), body: '4\r\nbo' });
  });

  test('keys that cannot be names of files are refused, and no path leaves the folder', async () => {
    for (const key of ['a//b', 'folder/', '/first', 'a/./b', 'a/../b', '../keys', '..', 'a%00b', 'a%0Ab', 'a%7Fb'])
      assert.equal(codeOf(await put(key)), 'InvalidArgument', key);
    assert.equal(codeOf(await put('x'.repeat(256))), 'KeyTooLongError');
    assert.equal(codeOf(await put(`${'x/'.repeat(512)}x`)), 'KeyTooLongError');
    assert.equal(codeOf(await put('%ff')), 'InvalidURI');
    assert.equal((await put('x'.repeat(255))).status, 200);
    for (const target of ['/archive/../.pinakes-s3/keys', '/archive/%2e%2e/%2e%2e/etc/passwd', '/.pinakes-s3/keys/x'])
      assert.ok([403, 404].includes((await ask({ target })).status), target);
    assert.equal((await ask({ method: 'DELETE', target: '/archive/a//b' })).status, 204);
  });

  test('symbolic links are not followed, listed or replaced', async () => {
    await put('real/file');
    await symlink(server.directory, pathOf('link'));
    await symlink(pathOf('real/file'), pathOf('alias'));
    for (const key of ['alias', 'link/archive/real/file', 'link/.pinakes-s3/lock.sqlite'])
      assert.equal((await ask({ target: `/archive/${key}` })).status, 404, key);
    assert.equal(codeOf(await put('link/archive/new')), 'ObjectParentIsFile');
    assert.notEqual((await put('alias')).status, 200);
    assert.equal(await readFile(pathOf('real/file'), 'utf8'), 'body');
    for (const prefix of ['link', 'link/archive/', 'alias'])
      assert.ok(
        !(await ask({ target: `/archive?list-type=2&prefix=${encodeURIComponent(prefix)}` })).text.includes('<Key>'),
        prefix,
      );
  });

  test('a key below the key of another object, or above it, is refused with its reason', async () => {
    await put('tree/file');
    assert.equal(codeOf(await put('tree/file/below')), 'ObjectParentIsFile');
    assert.equal(codeOf(await put('tree')), 'ExistingObjectIsDirectory');
    await ask({ method: 'DELETE', target: '/archive/tree/file' });
    assert.equal((await put('tree')).status, 200);
  });

  test('a file that is put into the folder by hand is an object', async () => {
    await mkdir(pathOf('by-hand'));
    assert.ok(!(await ask({ target: '/archive?list-type=2&prefix=by-hand' })).text.includes('<Key>'));
    await writeFile(pathOf('by-hand/old.warc.gz'), 'from a crawler');
    let listed = '';
    while (!listed.includes('<Key>by-hand/old.warc.gz</Key>'))
      listed = (await ask({ target: '/archive?list-type=2&prefix=by-hand' })).text;
    const { headers, text } = await ask({ target: '/archive/by-hand/old.warc.gz' });
    assert.equal(text, 'from a crawler');
    assert.match(String(headers.etag), /^"[0-9a-f]{32}-e"$/);
    assert.ok(listed.includes(String(headers.etag).replaceAll('"', '&quot;')));
    const refused = await put('by-hand/old.warc.gz', { headers: { 'if-match': '"other"' } });
    assert.equal(codeOf(refused), 'PreconditionFailed');
    assert.equal((await put('by-hand/old.warc.gz', { headers: { 'if-match': String(headers.etag) } })).status, 200);
    assert.equal(await readFile(pathOf('by-hand/old.warc.gz'), 'utf8'), 'body');
  });

  test('lists of 5,000 keys come in pages, in the order of bytes, while others write', async () => {
    await mkdir(pathOf('many'));
    const keys = Array.from({ length: 5000 }, (_, at) => `many/${at % 7 === 0 ? 'z' : 'a'}-${at}`);
    await Promise.all(keys.map((key) => writeFile(pathOf(key), '')));
    const found: string[] = [];
    let token = '';
    for (let page = 0; ; page++) {
      const { text } = await ask({ target: `/archive?${token}list-type=2&prefix=many%2F` });
      found.push(...Array.from(text.matchAll(/<Key>([^<]*)<\/Key>/g), ([, key]) => key!));
      const next = /<NextContinuationToken>([^<]*)</.exec(text)?.[1];
      if (next === undefined) break;
      token = `continuation-token=${next}&`;
      // What is stored behind the place of a list is in the rest of it.
      if (page === 1) await put('many/zz-new');
    }
    assert.deepEqual(found, [...keys, 'many/zz-new'].sort());
    await ask({ method: 'DELETE', target: '/archive/many/zz-new' });
    const after = (await ask({ target: '/archive?list-type=2&prefix=many%2Fzz' })).text;
    assert.match(after, /<KeyCount>0<\/KeyCount>/);
  });

  test('ranges, conditions and fields of the reply follow RFC 9110', async () => {
    const { headers } = await put('ranged', { body: '0123456789', headers: { 'content-type': 'text/plain' } });
    const etag = String(headers.etag);
    const get = async (fields: Record<string, string>, query = '') => {
      const { status, headers, text } = await ask({ target: `/archive/ranged${query}`, headers: fields });
      return [status, status < 400 ? text : '', headers['content-range'] ?? ''];
    };
    assert.deepEqual(await get({ range: 'bytes=2-4' }), [206, '234', 'bytes 2-4/10']);
    assert.deepEqual(await get({ range: 'bytes=-3' }), [206, '789', 'bytes 7-9/10']);
    assert.deepEqual(await get({ range: 'bytes=10-' }), [416, '', 'bytes */10']);
    assert.deepEqual(await get({ range: 'bytes=2-4', 'if-range': '"other"' }), [200, '0123456789', '']);
    assert.deepEqual(await get({ 'if-none-match': etag }), [304, '', '']);
    assert.deepEqual(await get({ 'if-match': '"other"' }), [412, '', '']);
    const { headers: head } = await ask({ method: 'HEAD', target: '/archive/ranged' });
    const modified = String(head['last-modified']);
    // The fraction of a second that the field cannot say does not make the object newer.
    assert.deepEqual(await get({ 'if-modified-since': modified }), [304, '', '']);
    assert.deepEqual(await get({ 'if-unmodified-since': modified }), [200, '0123456789', '']);
    assert.deepEqual(await get({ 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' }), [412, '', '']);
    const named = await ask({ target: '/archive/ranged?response-content-disposition=attachment' });
    assert.deepEqual(
      [named.headers['content-disposition'], named.headers['content-type']],
      ['attachment', 'text/plain'],
    );
  });

  test('a request that S3 has and this server has not is answered with NotImplemented', async () => {
    const requests: Partial<SignedOptions>[] = [
      { target: '/archive/a?acl' },
      { target: '/archive?versions' },
      { target: '/archive?policy' },
      { target: '/archive/a?partNumber=1' },
      { method: 'PUT', target: '/archive/a?tagging', body: '' },
      { method: 'POST', target: '/archive/a?select' },
      { method: 'PUT', target: '/archive/a', headers: { 'x-amz-server-side-encryption': 'AES256' } },
      { method: 'PUT', target: '/archive/a', headers: { 'x-amz-object-lock-mode': 'COMPLIANCE' } },
      { method: 'PUT', target: '/archive/a', headers: { 'x-amz-storage-class': 'GLACIER' } },
      { method: 'PUT', target: '/archive/a', headers: { 'if-none-match': '"tag"' } },
    ];
    for (const request of requests) {
      const answer = await ask({ target: '/', ...request });
      assert.deepEqual([answer.status, codeOf(answer)], [501, 'NotImplemented'], JSON.stringify(request));
    }
    assert.equal(codeOf(await ask({ target: '/archive/a?versionId=1' })), 'NoSuchVersion');
  });

  test('documents of requests are refused that declare entities, are not well formed, or are too long', async () => {
    const remove = (body: string) => ask({ method: 'POST', target: '/archive?delete', body });
    await put('victim');
    const bad = [
      '<!DOCTYPE Delete [<!ENTITY a "victim">]><Delete><Object><Key>&a;</Key></Object></Delete>',
      '<Delete><Object><Key>&nope;</Key></Object></Delete>',
      '<Delete><Object><Key>victim</Object></Key></Delete>',
      '<Delete><Object><Key><![CDATA[victim]]></Key></Object></Delete>',
      '<Delete><Object><Key>victim</Key></Object></Delete><Delete/>',
      '<Delete/>',
      `<Delete>${'<Object><Key>victim</Key></Object>'.repeat(1001)}</Delete>`,
      `${'<a>'.repeat(100)}`,
    ];
    for (const body of bad) assert.equal(codeOf(await remove(body)), 'MalformedXML', body.slice(0, 80));
    assert.equal(codeOf(await remove(' '.repeat(5 * 1024 * 1024))), 'EntityTooLarge');
    assert.equal(existsSync(pathOf('victim')), true);
    await put('a%26b');
    const { text } = await remove(
      '<Delete><Object><Key>a&#38;b</Key></Object><Object><Key>victim</Key></Object></Delete>',
    );
    assert.match(text, /<Deleted><Key>a&amp;b<\/Key><\/Deleted>/);
    assert.deepEqual([existsSync(pathOf('victim')), existsSync(pathOf('a&b'))], [false, false]);
  });

  test('a key sees its prefix and nothing else, and learns nothing of the rest', async () => {
    const reader = await server.addKey('reader', 'archive/shared', 'read');
    const other = await server.addKey('other', 'other', 'write');
    await put('shared/one');
    await put('shared-not/two');
    const as = (key: typeof reader, options: SignedOptions) => sendSigned(server.endpoint, key, options);
    assert.equal((await as(reader, { target: '/archive/shared/one' })).text, 'body');
    for (const target of ['/archive/shared-not/two', '/archive/never', '/archive/shared', '/other/x', '/nowhere/x'])
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE'])
        assert.equal((await as(reader, { method, target })).status, 403, `${method} ${target}`);
    for (const method of ['PUT', 'DELETE'])
      assert.equal((await as(reader, { method, target: '/archive/shared/one' })).status, 403);
    const removal = {
      method: 'POST',
      target: '/other?delete',
      body: '<Delete><Object><Key>shared/one</Key></Object></Delete>',
    };
    assert.equal((await as(reader, { ...removal, target: '/archive?delete' })).status, 403);
    assert.equal((await as(other, removal)).status, 200);
    const copy = { method: 'PUT', target: '/other/copy', headers: { 'x-amz-copy-source': '/archive/shared/one' } };
    assert.equal(codeOf(await as(other, copy)), 'AccessDenied');
    const { text } = await as(reader, { target: '/archive?list-type=2&delimiter=%2F' });
    assert.deepEqual(text.match(/<(?:Key|Prefix)>[^<]+/g), ['<Prefix>shared/']);
    assert.doesNotMatch((await as(reader, { target: '/archive?list-type=2&prefix=shared-' })).text, /<Key>/);
    assert.match((await as(other, { target: '/' })).text, /<Name>other<\/Name>/);
    for (const target of ['/archive?location', '/archive?list-type=2', '/archive?uploads', '/never?list-type=2'])
      assert.equal((await as(other, { target })).status, 403, target);
    assert.equal(existsSync(pathOf('shared/one')), true);
  });

  test('a key to all buckets makes and removes buckets, and a key to one bucket does not', async () => {
    const all = await server.addKey('all', '/', 'write');
    const as = (key: typeof all, method: string, target: string) =>
      sendSigned(server.endpoint, key, { method, target });
    assert.equal((await as(all, 'PUT', '/made')).status, 200);
    assert.equal(codeOf(await as(all, 'PUT', '/made')), 'BucketAlreadyOwnedByYou');
    assert.equal((await as(all, 'PUT', '/made/a/b')).status, 200);
    assert.equal(codeOf(await as(all, 'DELETE', '/made')), 'BucketNotEmpty');
    assert.match((await as(all, 'GET', '/')).text, /<Name>archive<\/Name>.*<Name>made<\/Name>/);
    assert.equal((await as(all, 'DELETE', '/made/a/b')).status, 204);
    assert.equal((await as(all, 'DELETE', '/made')).status, 204);
    assert.equal(codeOf(await as(all, 'GET', '/made/a/b')), 'NoSuchBucket');
    assert.equal(codeOf(await as(all, 'PUT', '/made/a/b')), 'NoSuchBucket');
    for (const target of ['/.pinakes-s3', '/.pinakes-s3/keys/x', '/UPPER'])
      for (const method of ['GET', 'PUT', 'DELETE']) assert.equal((await as(all, method, target)).status, 403, target);
    assert.equal(codeOf(await as(server, 'DELETE', '/archive')), 'AccessDenied');
  });

  test('the server tells that it is well without a signature', async () => {
    assert.deepEqual((({ status, text }) => [status, text])(await send(server.endpoint, { target: '/_health' })), [
      200,
      'ok\n',
    ]);
  });

  test('a body is asked for only after its head was found to be right', async () => {
    const { port, hostname } = new URL(server.endpoint);
    const expecting = async (key: typeof server, condition: string) => {
      const options = {
        method: 'PUT',
        target: '/archive/right',
        payload: 'UNSIGNED-PAYLOAD',
        headers: { 'if-none-match': condition },
      };
      const { headers } = signed(server.endpoint, key, options);
      const socket = connect(Number(port), hostname);
      const fields = Object.entries({ ...headers, expect: '100-continue', 'content-length': '5000000' });
      socket.write(`PUT /archive/right HTTP/1.1\r\n${fields.map((field) => field.join(': ')).join('\r\n')}\r\n\r\n`);
      const [piece] = (await new Promise<[Buffer]>((resolve) =>
        socket.once('data', (...got) => resolve(got as never)),
      )) as [Buffer];
      socket.destroy();
      return String(piece).slice(9, 12);
    };
    await put('right');
    assert.equal(await expecting(server, '*'), '412');
    assert.equal(await expecting({ ...server, secretAccessKey: 'wrong' }, '*'), '403');
  });

  test('the server reports no fault of its own in all this', () => {
    assert.equal(server.said(), '');
  });
});
