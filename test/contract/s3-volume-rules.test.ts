/** What a volume on S3 does beyond the contract: how it fails, which requests it sends, and what it finds out. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import {
  CreateMultipartUploadCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { PinakesError, utf8 } from '../../src/base/index.ts';
import { openS3Volume, type S3Volume } from '../../src/volume/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { isRetryable } from './s3-faults.ts';
import {
  BUCKET,
  clientOf,
  freePort,
  noVersitygw,
  type S3Server,
  startS3rver,
  startVersitygw,
  startVolumeServer,
} from './s3-servers.ts';
import { collect, failsWith, randomBytes } from './volume.ts';

const MIB = 1024 * 1024;

type ServerTraits = {
  readonly skip: string | false;
  /** Whether buckets can keep versions and locked objects. */
  readonly hasVersions: boolean;
  /** What a key is told of a bucket that does not exist. */
  readonly missingBucket: 'BUCKET_MISSING' | 'VOLUME_DENIED';
};

function rulesOn(
  title: string,
  start: () => Promise<S3Server>,
  { skip, hasVersions, missingBucket }: ServerTraits,
): void {
  describe(`a volume on S3: ${title}`, { skip }, () => {
    let server: S3Server;
    let proxy: FaultProxy;
    let volumes = 0;
    const opened: S3Volume[] = [];

    before(async () => {
      server = await start();
      proxy = await FaultProxy.start(server.endpoint);
    });
    after(async () => {
      await Promise.all(opened.map((volume) => volume.close()));
      await proxy?.close();
      await server?.close();
    });

    const open = async (options: object = {}, url = `s3://${BUCKET}/rules/${++volumes}`): Promise<S3Volume> => {
      proxy.clear();
      const volume = await openS3Volume('far', url, {
        endpoint: proxy.endpoint,
        credentials: server.credentials,
        clock: Date.now,
        writable: true,
        sleep: async () => undefined,
        ...options,
      });
      opened.push(volume);
      proxy.clear();
      return volume;
    };

    test('an address where nothing listens is a missing volume, which may be tried again', async () => {
      const endpoint = `http://127.0.0.1:${await freePort()}`;
      await assert.rejects(open({ endpoint }), (error) => failsWith('VOLUME_MISSING')(error) && isRetryable(error));
    });

    test('a wrong secret is refused without being shown', async () => {
      const credentials = { ...server.credentials, secretAccessKey: 'a wrong and private word' };
      await assert.rejects(open({ credentials }), (error) => {
        assert.ok(failsWith('VOLUME_CREDENTIALS', 'volume far')(error) && !isRetryable(error));
        assert.ok(error instanceof PinakesError && !error.message.includes('private'));
        return true;
      });
      const unknown = { ...server.credentials, accessKeyId: 'stranger' };
      await assert.rejects(open({ credentials: unknown }), failsWith('VOLUME_CREDENTIALS'));
    });

    test('a missing bucket is reported as such, and never as missing objects', async () => {
      await assert.rejects(open({}, 's3://nothing/here'), failsWith(missingBucket));
      let now = 0;
      const volume = await open({ clock: () => now });
      now = 60_000;
      // A proxy without a server behind it.
      proxy.setFaults(() => ({ kind: 'answered', status: 404, body: 'not found' }));
      await assert.rejects(volume.stat(['a']), failsWith('BUCKET_MISSING'));
      await assert.rejects(volume.read([{ name: 'a', offset: 0, length: 1 }]), failsWith('BUCKET_MISSING'));
      await assert.rejects(volume.remove(['a']), failsWith('BUCKET_MISSING'));
      await assert.rejects(volume.readTagged('a'), failsWith('BUCKET_MISSING'));
    });

    test('a right that the key does not have is reported at once', async () => {
      const volume = await open();
      proxy.setFaults(() => ({ kind: 'refused', status: 403, code: 'AccessDenied' }));
      await assert.rejects(
        volume.put('a', [utf8('a')]),
        (error) => failsWith('VOLUME_DENIED')(error) && !isRetryable(error),
      );
      assert.equal(proxy.seen.length, 1);
    });

    test('a volume that may only be read refuses every change', async () => {
      const volume = await open({ writable: false });
      const refused = failsWith('VOLUME_READ_ONLY');
      await assert.rejects(volume.put('a', []), refused);
      await assert.rejects(volume.join('a', []), refused);
      await assert.rejects(volume.remove(['a']), refused);
      await assert.rejects(volume.putIfAbsent('a', utf8('a')), refused);
      await assert.rejects(volume.probe(), refused);
      assert.equal(proxy.seen.length, 0);
    });

    test('one record is one request, near ranges share one, and far ranges do not', async () => {
      const volume = await open();
      await volume.put('a', [randomBytes(300_000)]);
      proxy.clear();
      await volume.read([{ name: 'a', offset: 1000, length: 500 }]);
      assert.deepEqual(
        proxy.seen.map(({ range }) => range),
        ['bytes=1000-1499'],
      );
      proxy.clear();
      await volume.read([
        { name: 'a', offset: 17_500, length: 500 },
        { name: 'a', offset: 1000, length: 500 },
        { name: 'a', offset: 200_000, length: 1 },
      ]);
      assert.deepEqual(proxy.seen.map(({ range }) => range).sort(), ['bytes=1000-17999', 'bytes=200000-200000']);
    });

    test('reads one after another use one connection', async () => {
      let connections = 0;
      const { port } = new URL(server.endpoint);
      const relay = createServer((socket) => {
        connections++;
        const onward = connect(Number(port), '127.0.0.1');
        socket.pipe(onward).pipe(socket);
        for (const end of [socket, onward]) end.on('error', () => undefined);
      }).listen(0, '127.0.0.1');
      relay.unref();
      await once(relay, 'listening');
      const volume = await open({ endpoint: `http://127.0.0.1:${(relay.address() as AddressInfo).port}` });
      await volume.put('a', [randomBytes(100_000)]);
      for (let at = 0; at < 20; at++) await volume.read([{ name: 'a', offset: at * 1000, length: 500 }]);
      await volume.close();
      relay.close();
      assert.equal(connections, 1);
    });

    test('a stream that is cut goes on where it stopped, on the same version of the object', async () => {
      const volume = await open();
      const bytes = randomBytes(2_000_000);
      await volume.put('a', [bytes]);
      proxy.setFaults((_, count) => (count <= 3 ? { kind: 'answer cut', at: 0.4 } : undefined));
      assert.equal(Buffer.compare(await collect(volume.stream('a')), bytes), 0);
      const starts = proxy.seen.map(({ range }) => Number(/^bytes=(\d+)-/.exec(range ?? 'bytes=0-')![1]));
      assert.equal(starts.length, 4);
      assert.deepEqual(
        starts,
        [...new Set(starts)].sort((a, b) => a - b),
      );
      proxy.setFault(1, { kind: 'answer cut', at: 0.4 });
      const stream = volume.stream('a')[Symbol.asyncIterator]();
      await stream.next();
      const other = clientOf(server);
      const Key = `rules/${volumes}/a`;
      await other.send(new PutObjectCommand({ Bucket: BUCKET, Key, Body: 'replaced by another program' }));
      other.destroy();
      await assert.rejects(async () => {
        while (!(await stream.next()).done);
      }, isRetryable);
    });

    // One server is enough for a test that waits for seconds.
    test('a server that accepts a connection and stays silent fails a read with an error that can be retried', {
      skip: hasVersions && 'it was tried on another server',
    }, async () => {
      const volume = await open();
      await volume.put('a', [randomBytes(500_000)]);
      proxy.setFaults(({ range }) => (range === 'bytes=0-9' ? { kind: 'silent' } : { kind: 'answer stops', at: 0.5 }));
      const silent = (error: unknown) => failsWith('VOLUME_IO', 'object a')(error) && isRetryable(error);
      await Promise.all([
        assert.rejects(volume.read([{ name: 'a', offset: 0, length: 10 }]), silent),
        assert.rejects(collect(volume.stream('a')), silent),
      ]);
    });

    test('a server that refuses copies of parts, or parts of different lengths, gets uploads instead', async () => {
      const large = randomBytes(5 * MIB);
      const ranges = ['large', 'small', 'large'].map((name) => ({
        name,
        offset: 0,
        length: name === 'large' ? large.length : 5,
      }));
      for (const refuses of [/\?partNumber=1&.*UploadPartCopy|partNumber=1&/, /\?uploadId=/]) {
        const volume = await open();
        await volume.put('large', [large]);
        await volume.put('small', [utf8('small')]);
        let refused = 0;
        proxy.setFaults(({ method, path }) =>
          refuses.test(path) && method !== 'DELETE' && refused++ === 0
            ? { kind: 'refused', status: refuses.source.includes('Number') ? 501 : 400, code: 'NotThisWay' }
            : undefined,
        );
        await volume.join('joined', ranges);
        assert.ok(refused > 0);
        const joined = await collect(volume.stream('joined'));
        assert.equal(Buffer.compare(joined, Buffer.concat([large, utf8('small'), large])), 0);
        assert.deepEqual((await Array.fromAsync(volume.unfinishedUploads())).flat(), []);
      }
    });

    test('a server that removes one object at a time gets one request for each', async () => {
      const volume = await open();
      for (const name of ['a', 'b', 'c']) await volume.put(name, [utf8(name)]);
      proxy.setFaults(({ method }) =>
        method === 'POST' ? { kind: 'refused', status: 501, code: 'NotImplemented' } : undefined,
      );
      await volume.remove(['a', 'b', 'missing']);
      assert.deepEqual(
        (await Array.fromAsync(volume.list())).flat().map(({ name }) => name),
        ['c'],
      );
    });

    test('an object that the server cannot remove is reported with its name', async () => {
      const volume = await open();
      const body =
        '<?xml version="1.0"?><DeleteResult><Error><Key>rules/b</Key><Code>AccessDenied</Code></Error></DeleteResult>';
      proxy.setFault(1, { kind: 'answered', status: 200, body });
      await assert.rejects(volume.remove(['a', 'b']), failsWith('VOLUME_DENIED', 'rules/b'));
    });

    test('a list that repeats itself ends with an error', async () => {
      const volume = await open();
      const key = `rules/${volumes}/a`;
      const body =
        '<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated>' +
        `<NextContinuationToken>t</NextContinuationToken><Contents><Key>${key}</Key><Size>1</Size></Contents></ListBucketResult>`;
      proxy.setFaults(() => ({ kind: 'answered', status: 200, body }));
      await assert.rejects(Array.fromAsync(volume.list()), failsWith('VOLUME_REFUSED'));
    });

    test('objects of other programs with names that are not names of objects are not listed', async () => {
      const volume = await open();
      const other = clientOf(server);
      for (const name of ['a name with spaces', '.hidden', 'a+b%20c', 'sound'])
        await other.send(new PutObjectCommand({ Bucket: BUCKET, Key: `rules/${volumes}/${name}`, Body: 'x' }));
      other.destroy();
      assert.deepEqual(
        (await Array.fromAsync(volume.list())).flat().map(({ name }) => name),
        ['sound'],
      );
    });

    test('an owner object is created once and replaced only by its tag', async () => {
      const volume = await open();
      assert.equal(await volume.readTagged('owner'), undefined);
      const first = await volume.putIfAbsent('owner', utf8('first'));
      assert.ok(first);
      assert.equal(await volume.putIfAbsent('owner', utf8('second')), undefined);
      assert.equal(await volume.putIfAbsent('owner', utf8('first')), first, 'the same bytes are the same owner');
      const second = await volume.putIfTag('owner', first, utf8('second'));
      assert.ok(second);
      assert.equal(await volume.putIfTag('owner', first, utf8('third')), undefined);
      assert.equal(await volume.putIfTag('missing', first, utf8('third')), undefined);
      assert.deepEqual(await volume.readTagged('owner'), { bytes: new Uint8Array(utf8('second')), tag: second });
    });

    test('a probe finds conditions that hold, and leaves nothing behind', async () => {
      const volume = await open();
      const { clockSkewMs, keepsVersions, hasObjectLock, ...traits } = await volume.probe();
      assert.deepEqual(traits, { conditions: 'atomic', replaces: 'atomic' });
      assert.ok(!keepsVersions && !hasObjectLock);
      assert.ok(Math.abs(clockSkewMs) < 60_000);
      assert.deepEqual((await Array.fromAsync(volume.list('_pinakes/'))).flat(), []);
    });

    test('a probe measures how far the clocks are apart', async () => {
      const volume = await open({ clock: () => Date.now() - 3_600_000 });
      const { clockSkewMs } = await volume.probe();
      assert.ok(clockSkewMs > 3_500_000 && clockSkewMs < 3_700_000, String(clockSkewMs));
    });

    test('a probe finds that conditions are refused', async () => {
      const volume = await open();
      proxy.setFaults(({ method }) =>
        method === 'PUT' ? { kind: 'refused', status: 501, code: 'NotImplemented' } : undefined,
      );
      await assert.rejects(volume.probe(), failsWith('VOLUME_REFUSED'));
    });

    test('unfinished uploads are listed with their begin, and can be aborted', async () => {
      const volume = await open();
      const other = clientOf(server);
      for (const name of ['a', 'b', 'b', 'c']) {
        const object = { Bucket: BUCKET, Key: `rules/${volumes}/${name}` };
        const { UploadId } = await other.send(new CreateMultipartUploadCommand(object));
        await other.send(new UploadPartCommand({ ...object, UploadId, PartNumber: 1, Body: 'a part' }));
      }
      other.destroy();
      const pages = await Array.fromAsync(volume.unfinishedUploads());
      assert.deepEqual(
        pages.flat().map(({ name }) => name),
        ['a', 'b', 'b', 'c'],
      );
      for (const { begun } of pages.flat()) assert.ok(begun && Math.abs(begun.getTime() - Date.now()) < 600_000);
      for (const upload of pages.flat()) await volume.abortUpload(upload);
      await volume.abortUpload(pages[0]![0]!);
      assert.deepEqual((await Array.fromAsync(volume.unfinishedUploads())).flat(), []);
    });

    test('an upload that fails is aborted', async () => {
      const volume = await open();
      proxy.setFaults(({ path }) =>
        path.includes('partNumber=2') ? { kind: 'refused', status: 403, code: 'AccessDenied' } : undefined,
      );
      const large = { name: 'large', offset: 0, length: 5 * MIB };
      await volume.put('large', [randomBytes(5 * MIB)]);
      await assert.rejects(volume.join('joined', [large, large]), failsWith('VOLUME_DENIED'));
      assert.deepEqual(await volume.stat(['joined']), [undefined]);
      assert.deepEqual((await Array.fromAsync(volume.unfinishedUploads())).flat(), []);
    });

    test('an upload whose completion had no answer counts when its object is there', async () => {
      const volume = await open();
      const large = { name: 'large', offset: 0, length: 5 * MIB };
      await volume.put('large', [randomBytes(5 * MIB)]);
      let lost = 0;
      proxy.setFaults(({ method, path }) =>
        method === 'POST' && path.includes('uploadId=') && lost++ === 0 ? { kind: 'answer lost' } : undefined,
      );
      await volume.join('joined', [large, large]);
      assert.equal(lost, 2);
      assert.deepEqual(await volume.stat(['joined']), [{ name: 'joined', bytes: 10 * MIB, sealed: true }]);
    });

    test('a bucket that keeps versions is found out, and versions can be removed for good', {
      skip: !hasVersions && 'the server keeps no versions',
    }, async () => {
      const other = clientOf(server);
      const versioning = (Status: 'Enabled' | 'Suspended') =>
        other.send(new PutBucketVersioningCommand({ Bucket: BUCKET, VersioningConfiguration: { Status } }));
      await versioning('Enabled');
      try {
        const volume = await open();
        assert.equal((await volume.probe()).keepsVersions, true);
        assert.deepEqual((await Array.fromAsync(volume.versions())).flat(), [], 'what the probe leaves');
        await volume.put('a', [utf8('a')]);
        await volume.put('a', [utf8('a')]);
        await volume.put('b', [utf8('b')]);
        await volume.remove(['a']);
        const versions = (await Array.fromAsync(volume.versions())).flat();
        assert.deepEqual(
          versions.map(({ name, isLatest, isDeleteMarker }) => [name, isLatest, isDeleteMarker]).sort(),
          [
            ['a', false, false],
            ['a', false, false],
            ['a', true, true],
            ['b', true, false],
          ],
        );
        // What was removed can be read by its version, which is how it is proved that nothing of it is left.
        for (const { name, versionId, bytes } of versions.filter(({ isDeleteMarker }) => !isDeleteMarker)) {
          assert.equal(bytes, 1);
          const pieces = await Array.fromAsync(volume.streamVersion({ name, versionId }));
          assert.equal(Buffer.concat(pieces).toString(), name);
        }
        await volume.removeVersions(versions.filter(({ name }) => name === 'a'));
        assert.deepEqual(
          (await Array.fromAsync(volume.versions())).flat().map(({ name }) => name),
          ['b'],
        );
      } finally {
        await versioning('Suspended');
        other.destroy();
      }
    });

    test('requests, bytes and failures are counted', async () => {
      const volume = await open();
      await volume.put('a', [randomBytes(1000)]);
      proxy.setFault(1, { kind: 'refused', status: 503, code: 'SlowDown' });
      await volume.read([{ name: 'a', offset: 0, length: 600 }]);
      await volume.stat(['a', 'missing']);
      const { lastError, ...counts } = volume.counts();
      assert.deepEqual(counts, {
        puts: 1,
        gets: 2,
        heads: 2,
        lists: 1,
        deletes: 0,
        bytesRead: 600,
        bytesWritten: 1000,
        retries: 1,
        pending: { put: 0, get: 0, head: 0, list: 0, delete: 0 },
      });
      assert.match(lastError!, /SlowDown/);
    });
  });
}

rulesOn('the volume server', startVolumeServer, { skip: false, hasVersions: false, missingBucket: 'VOLUME_DENIED' });
rulesOn('versitygw', () => startVersitygw({ versions: true }), {
  skip: noVersitygw,
  hasVersions: true,
  missingBucket: 'BUCKET_MISSING',
});

test('a probe finds that a server ignores conditions', async () => {
  const server = await startS3rver();
  const volume = await openS3Volume('far', `s3://${BUCKET}/probed`, { ...server, clock: Date.now, writable: true });
  const { conditions, replaces } = await volume.probe();
  assert.deepEqual({ conditions, replaces }, { conditions: 'ignored', replaces: 'ignored' });
  await volume.close();
  await server.close();
});
