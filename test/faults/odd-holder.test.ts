/**
 * The power fails while odd records and revisits of them are added. The revisits are in another segment, and no revisit
 * may be durable before its original.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createArchive, VolumeSet } from '../../src/archive/index.ts';
import { seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog } from '../../src/catalog/index.ts';
import { CHANGES, FaultyVolume, openMemoryVolume } from '../../src/volume/index.ts';
import { openWithParts } from '../archive/opened-parts.ts';
import { audit, contentOf, temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';

const SETTING = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true } as const;
const SEEDS = [9, 10, 11];

function member(name: string, date: string, body: string): Buffer {
  const message = Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), contentOf(body)]);
  const head = [
    'WARC/1.1',
    'WARC-Type: response',
    `WARC-Record-ID: <urn:odd:${name}>`,
    `WARC-Date: ${date}`,
    `WARC-Target-URI: http://a.example/${name}`,
    'Content-Type: application/http; msgtype=response',
    `Content-Length: ${message.length}`,
  ];
  return gzipSync(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), message, Buffer.from('\r\n\r\n')]));
}

test('I1 Referent before reference: no revisit is durable before the odd record that it refers to', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = join(directory, 'a.warc.gz');
  const pairs = ['a', 'b', 'c'].flatMap((name) => [
    member(name, '2024-03-01T12:00:00+02:00', name),
    member(`${name}-again`, '2024-03-01T10:00:01Z', name),
  ]);
  await writeFile(file, Buffer.concat(pairs));
  for (const seed of SEEDS) {
    for (let nth = 1, isOver = false; !isOver; nth++) {
      const home = join(directory, `${seed}-${nth}`);
      await createArchive(home);
      const [inner, catalog] = [openMemoryVolume('main'), new MemoryCatalog({ clock: () => 0 })];
      const open = (volume: FaultyVolume) =>
        openWithParts(home, trialOptions({ catalog, volumes: VolumeSet.of([{ setting: SETTING, volume }]) }));
      const faulty = new FaultyVolume(inner, seededRandom(seed), [{ nth, on: CHANGES, effect: 'power-loss' }]);
      const archive = await open(faulty);
      await archive.add([file], { workers: 0 }).catch(() => {});
      isOver = faulty.fired.length === 0;
      await archive.close().catch(() => {});
      await faulty.crash();
      const again = await open(new FaultyVolume(inner, seededRandom(seed)));
      const { captures, unresolvedRevisits } = await again.stats();
      assert.equal(unresolvedRevisits, 0, `seed ${seed}, change ${nth}, ${captures} captures`);
      await again.add([file], { workers: 0 });
      assert.deepEqual([(await again.stats()).captures, await audit(again)], [pairs.length, []]);
      await again.close();
    }
  }
});
