/**
 * Closing an archive in use: acknowledged changes are kept, other calls fail with ARCHIVE_CLOSED, and the close
 * completes.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive, VolumeSet } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { allCaptures, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const CLOSED = { code: 'ARCHIVE_CLOSED', retryable: true };
const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;
const SMALL_SEGMENTS = { policies: { segmentBytesMax: 20_000 } };

async function filledArchive(t: TestContext): Promise<Archive> {
  const archive = await makeArchive(t, SMALL_SEGMENTS);
  for (let at = 0; at < 60; at++)
    await archive.store(page(`https://a.example/${at}`, NOON + at * 1000, contentOf(`${at}`)));
  await archive.delete({ url: 'https://a.example/1' });
  return archive;
}

test('closing completes although new stores arrive, and every acknowledged store is kept', async (t) => {
  const archive = await makeArchive(t);
  const stored: string[] = [];
  const storing = (async () => {
    for (let at = 0; ; at++) {
      const url = `https://a.example/${at}`;
      await archive.store(page(url, NOON, contentOf(url)));
      stored.push(url);
    }
  })();
  storing.catch(() => {});
  while (stored.length < 3) await new Promise(setImmediate);
  await archive.close();
  await assert.rejects(storing, CLOSED);
  const again = await openArchive(archive.directory, trialOptions());
  t.after(() => again.close());
  assert.deepEqual((await allCaptures(again)).map(({ url }) => url).sort(), stored.sort());
});

test('a store whose body is still arriving when the archive is closed is refused, and leaves nothing', async (t) => {
  const archive = await makeArchive(t);
  const { promise: isClosed, resolve } = Promise.withResolvers<void>();
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield contentOf('first');
    await isClosed;
    yield contentOf('second');
  }
  const storing = archive.store(page('https://a.example/', NOON, slow()));
  storing.catch(() => {});
  await archive.close();
  resolve();
  await assert.rejects(storing, CLOSED);
});

test('an add that a close interrupts fails with ARCHIVE_CLOSED, and a later add continues where it stopped', async (t) => {
  const archive = await makeArchive(t);
  const pages = Array.from({ length: 3000 }, (_, at) =>
    response(`https://b.example/${at}`, NOON, contentOf(`${at}`, 200)),
  );
  const file = await writeForeign(join(archive.directory, 'other.warc.gz'), [warcinfo(), ...pages]);
  let closing: Promise<void> | undefined;
  const onProgress = () => {
    closing ??= archive.close();
  };
  const report = archive.add([file], { workers: 1, onProgress });
  await assert.rejects(report, CLOSED);
  await closing;
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  await again.add([file], { workers: 1 });
  assert.equal((await allCaptures(again)).length, pages.length);
  assert.equal((await again.verify()).errors, 0);
});

test('reading a closed archive fails with ARCHIVE_CLOSED', async (t) => {
  const archive = await filledArchive(t);
  const [capture, other] = await allCaptures(archive);
  const { payload } = await archive.open(capture!);
  const pages = archive.exportCdxj({});
  await pages.next();
  const stream = archive.streamWarc();
  await stream.next();
  const listing = archive.captures({}, 1)[Symbol.asyncIterator]();
  await listing.next();
  await using view = await archive.view();
  await archive.close();
  // It is already in memory.
  assert.ok((await bytesOf(payload)).length > 0);
  const reads: Record<string, () => Promise<unknown>> = {
    get: () => archive.get('https://a.example/2'),
    open: () => archive.open(other!),
    stream: async () => {
      for await (const _ of stream);
    },
    listing: () => listing.next(),
    view: () => view.findCaptures([capture!]),
    totals: () => archive.totals(),
    newView: () => archive.view(),
    stats: () => archive.stats(),
    verify: () => archive.verify(),
    export: () => archive.exportWarc({}, join(archive.directory, 'out.warc.gz'), { software: 'trial' }),
  };
  for (const [name, read] of Object.entries(reads)) await assert.rejects(read, CLOSED, name);
});

test('changes of a closed archive are refused, and closing it again does nothing', async (t) => {
  const archive = await filledArchive(t);
  await archive.close();
  const changes: Record<string, () => Promise<unknown>> = {
    store: () => archive.store(page('https://c.example/', NOON, contentOf('c'))),
    delete: () => archive.delete({ url: 'https://a.example/2' }),
    compact: () => archive.compact(),
    recompress: () => archive.recompress(),
    rebuild: () => archive.rebuild(),
    flush: () => archive.flush(),
    volume: () => archive.addVolume({ name: 'second', path: join(archive.directory, 'second') }),
  };
  for (const [name, change] of Object.entries(changes)) await assert.rejects(change, CLOSED, name);
  await archive.close();
});

test('closing completes although a volume fails, and the archive can be opened again', async (t) => {
  const made = await makeArchive(t);
  const { directory } = made;
  await made.close();
  const inner = openMemoryVolume('main');
  const fault = { nth: 1, on: ['append', 'remove'], effect: 'io-error', lasting: true } as const;
  const volumes = VolumeSet.of([{ setting: SETTING, volume: new FaultyVolume(inner, seededRandom(1), [fault]) }]);
  const archive = await openArchive(directory, trialOptions({ volumes }));
  await assert.rejects(archive.store(page('https://a.example/', NOON, contentOf('first'))), { code: 'VOLUME_IO' });
  await assert.rejects(archive.close(), { code: 'VOLUME_IO' });
  const again = await openArchive(directory, trialOptions());
  await again.close();
});
