/**
 * A takedown beside running stores and a dead writer's open segment: the bytes have to leave the archive and its
 * mirror, by a search of every file that uses none of the program's code, and must not come back.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants, gunzipSync } from 'node:zlib';
import { createArchive, openArchive, restoreMirror } from '../../src/archive/index.ts';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { answers, contentOf, NOON, page, trialOptions } from './trial-archive.ts';

const SECRET = contentOf('secret');
const BY = { by: 'the trial' };

export type TakedownFigures = {
  readonly captures: number;
  readonly deleted: number;
  readonly segments: number;
  readonly takedownMs: number;
  readonly syncMs: number;
  readonly searchMs: number;
  readonly searchedBytes: number;
  readonly restoreMs: number;
};

/** `pages`: how many the dead writer stores, and so does this process. `directory`: an empty one. */
export async function takeDownEverywhere(
  directory: string,
  pages: number,
  segmentBytesMax: number,
): Promise<TakedownFigures> {
  const place = join(directory, 'archive');
  const attic = join(directory, 'attic');
  await createArchive(place, { policies: { segmentBytesMax } });
  await dyingWriter(place, pages);
  const archive = await openArchive(place, trialOptions({ seed: 12 }));
  try {
    await archive.mirrors.add({ name: 'attic', target: attic, delayMs: 24 * 3600 * 1000 });
    const records = [warcinfo(), response('http://file.example/', NOON, SECRET)];
    const file = await writeForeign(join(directory, 'secret.warc.gz'), records);
    await archive.add([file], { collection: 'files' });
    await archive.mirrors.sync('attic');
    assert.ok(holds(place).length > 0 && holds(attic).length > 0, 'the search finds what is there');
    let stored = 0;
    let refused = 0;
    let isOver = false;
    const storing = (async () => {
      for (let n = 0; n < pages || !isOver; n++) {
        const body = n % 4 === 0 ? SECRET : contentOf(`own ${n}`);
        await archive.store(page(`http://own.example/${n}`, NOON + n, body)).then(
          () => stored++,
          (error: { code?: string }) => {
            assert.equal(error.code, 'CONTENT_BARRED');
            refused++;
          },
        );
      }
    })();
    while (stored < 5) await new Promise((resolve) => setTimeout(resolve, 5));
    const [takedownMs, { captures: deleted, takedown }] = await timed(() =>
      archive.takeDown({ keys: [`sha256:${sha256(SECRET)}`] }, { reason: 'asked by the author', ...BY }),
    );
    await archive.compact();
    const [syncMs] = await timed(() => archive.mirrors.sync('attic'));
    isOver = true;
    await storing;
    assert.ok(refused > 0, 'stores beside the takedown were refused');
    // A store that was refused late may have left bytes that were never committed; they are cut off, not compacted.
    await archive.compact();
    const last = await archive.mirrors.sync('attic');
    assert.deepEqual([last.barred, holds(place), holds(attic)], [[], [], []]);
    const [searchMs, check] = await timed(() => archive.takedownLog.check(takedown, BY));
    assert.deepEqual([check.isGone, check.found, check.unsearched], [true, 0, []]);
    assert.deepEqual(check.places.map(({ place: name }) => name).sort(), [
      'directory of the archive',
      'mirror attic',
      'volume main',
    ]);
    for (const again of [false, true]) {
      const report = await archive.add([file], { collection: 'files', again });
      if (again) assert.equal(report.capturesBarred, 1);
      assert.equal(report.captures, 0);
    }
    assert.deepEqual([holds(place), (await archive.verify()).errors], [[], 0]);
    await archive.mirrors.sync('attic');
    const before = await answers(archive);
    const [restoreMs] = await timed(() =>
      restoreMirror({ target: attic }, join(directory, 'restored'), { clock: () => NOON }),
    );
    const restored = await openArchive(join(directory, 'restored'), trialOptions({ seed: 13 }));
    try {
      assert.deepEqual(await answers(restored), before);
      assert.equal((await restored.add([file], { again: true })).capturesBarred, 1);
      assert.equal((await restored.verify()).errors, 0);
    } finally {
      await restored.close();
    }
    assert.deepEqual(holds(join(directory, 'restored')), []);
    const searchedBytes = check.places.reduce((sum, { bytes }) => sum + bytes, 0);
    const segments = (await archive.segments()).length;
    return { captures: before.length, deleted, segments, takedownMs, syncMs, searchMs, searchedBytes, restoreMs };
  } finally {
    await archive.close();
  }
}

async function dyingWriter(place: string, pages: number): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'dying-writer-child.ts'), place, String(pages)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  const open = filesBelow(join(place, 'volumes')).filter((path) => path.endsWith('.open'));
  assert.ok(open.length > 0, 'the dead writer left an open segment');
}

/** The files below a directory that have the bytes, as they are or compressed. */
function holds(directory: string): string[] {
  const needle = Buffer.from(SECRET);
  return filesBelow(directory).filter((path) => {
    const bytes = readFileSync(path);
    return bytes.includes(needle) || inflated(bytes).includes(needle);
  });
}

/** All gzip members in a file, also behind other bytes. */
function inflated(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  const magic = Buffer.of(0x1f, 0x8b, 8);
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) {
    const end = bytes.indexOf(magic, at + 1);
    try {
      parts.push(gunzipSync(bytes.subarray(at, end < 0 ? undefined : end), { finishFlush: constants.Z_SYNC_FLUSH }));
    } catch {
      // These bytes are in the middle of a member, which is inflated from its beginning.
      try {
        parts.push(gunzipSync(bytes.subarray(at), { finishFlush: constants.Z_SYNC_FLUSH }));
      } catch {}
    }
  }
  return Buffer.concat(parts);
}

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function timed<Answer>(work: () => Promise<Answer>): Promise<[ms: number, Answer]> {
  const begun = performance.now();
  const answer = await work();
  return [Math.round(performance.now() - begun), answer];
}
