/**
 * Captures share contents. A random half of the captures is deleted, and the archive is compacted. Then the other half
 * is complete, and the deleted half is gone.
 *
 * A thousand captures in three volumes, with more contents than one group takes, use every path of a takedown many
 * times. The other two shapes only have to show that the number of volumes and contents changes nothing.
 * `PINAKES_TAKEDOWN=1000` gives all three that many captures.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Archive, createArchive, openArchive } from '../../src/archive/index.ts';
import { type Random, seededRandom, utf8 } from '../../src/base/index.ts';
import { objectsOf, withVolumes } from './opened-parts.ts';
import { answers, audit, bytesOf, contentOf, NOON, page, temporaryDirectory, trialOptions } from './trial-archive.ts';

const CAPTURES_MIN = Number(process.env.PINAKES_TAKEDOWN ?? 0);
/** Enough that about every tenth content has only one capture, and most have several. */
const contentsFor = (captures: number) => captures * 0.3;

type Taken = { readonly n: number; readonly url: string; readonly time: number; readonly content: number };

const bodyOf = (content: number) => contentOf(`content-${content}-marker`, content % 10 === 0 ? 500 : 1500 + content);

async function fill(archive: Archive, captures: number, random: Random, volumes: readonly string[]): Promise<Taken[]> {
  const taken: Taken[] = [];
  for (let from = 0; from < captures; from += 50) {
    const group = Array.from({ length: 50 }, (_, index): Taken => {
      const n = from + index;
      const url = `http://e${n % 7}.example/${n % 400}`;
      return { n, url, time: NOON + n * 1000, content: Math.floor(random() * contentsFor(captures)) };
    });
    await Promise.all(
      group.map(({ n, url, time, content }) =>
        archive.store(
          {
            ...page(url, time, bodyOf(content), [`X-Number: ${n}.`]),
            request: utf8(`GET /number-${n}. HTTP/1.1\r\n\r\n`),
          },
          { collection: `c${n % 3}`, volume: volumes[n % volumes.length]! },
        ),
      ),
    );
    taken.push(...group);
  }
  return taken;
}

/** The bytes of all files in the volumes, with members inflated. */
async function inflated(archive: Archive): Promise<Buffer> {
  return withVolumes(archive, async (volumes) => {
    const parts: Buffer[] = [];
    for (const volume of volumes.available()) {
      for (const { name } of await objectsOf(volume)) {
        const bytes = await bytesOf(volume.stream(name));
        parts.push(name.endsWith('.gz') ? gunzipSync(bytes) : bytes);
      }
    }
    return Buffer.concat(parts);
  });
}

async function checkSurvivors(archive: Archive, kept: readonly Taken[]): Promise<void> {
  for (const { n, url, time, content } of kept) {
    const { capture, http, payload } = await archive.get(url, time);
    assert.equal(capture.time, time);
    assert.equal(http!.get('x-number'), `${n}.`);
    assert.ok((await bytesOf(payload)).equals(bodyOf(content)), `capture ${n} has another content`);
  }
  assert.equal((await archive.totals()).captures, kept.length);
  assert.deepEqual(await audit(archive), []);
  const problems: string[] = [];
  const { errors } = await archive.verify({ onProblem: ({ message }) => void problems.push(message) });
  assert.equal(errors, 0, problems.join('; '));
}

async function checkGone(archive: Archive, kept: readonly Taken[], gone: readonly Taken[]): Promise<void> {
  const all = await inflated(archive);
  const living = new Set(kept.map(({ content }) => content));
  for (let content = 0; content < contentsFor(kept.length + gone.length); content++)
    assert.equal(all.includes(`content-${content}-marker`), living.has(content), `content ${content}`);
  for (const { n } of gone) {
    assert.equal(all.includes(`X-Number: ${n}.`), false, `the head of capture ${n} is still there`);
    assert.equal(all.includes(`GET /number-${n}.`), false, `the request of capture ${n} is still there`);
  }
}

for (const [seed, volumes, contentsAtOnce, capturesUsual] of [
  [11, ['main'], 100_000, 100],
  [12, ['main', 'second'], 100_000, 100],
  [13, ['main', 'second', 'third'], 40, 1000],
] as const) {
  const captures = Math.max(CAPTURES_MIN, capturesUsual);
  test(`I5 No capture loses its content, I6 Deleted means gone: ${captures} captures in ${volumes.length} volumes, ${contentsAtOnce} contents at once, seed ${seed}`, async (t) => {
    const random = seededRandom(seed);
    const directory = await temporaryDirectory(t);
    await createArchive(directory, { policies: { segmentBytesMax: 60_000 } });
    let archive = await openArchive(directory, trialOptions({ seed }));
    t.after(() => archive.close().catch(() => {}));
    for (const name of volumes.slice(1)) await archive.addVolume({ name, path: join(directory, 'volumes', name) });
    const taken = await fill(archive, captures, random, volumes);
    const kept: Taken[] = [];
    const gone: Taken[] = [];
    for (const one of taken) (random() < 0.5 ? kept : gone).push(one);
    for (const { n, url, time } of gone) {
      const preview = n % 20 === 0 ? await archive.previewDelete({ url, from: time, to: time }) : undefined;
      const report = await archive.delete({ url, from: time, to: time });
      if (preview) assert.deepEqual([report.captures, report.contents], [preview.captures, preview.contents]);
    }
    const report = await archive.compact({ contentsAtOnce });
    assert.ok(report.promoted > 0 && report.repointed > 0 && report.bytesAfter < report.bytesBefore);
    await checkSurvivors(archive, kept);
    await checkGone(archive, kept, gone);
    const before = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
    await archive.close();
    archive = await openArchive(directory, trialOptions({ seed: seed + 100 }));
    await checkSurvivors(archive, kept);
    assert.equal((await archive.compact()).segments, 0, 'nothing is left to compact');
  });
}
