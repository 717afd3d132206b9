/** A swap that an older program began, as its notes in the catalog say, and that this program finishes. */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { createArchive, openArchive } from '../../src/archive/index.ts';
import { utf8 } from '../../src/base/index.ts';
import { Runs } from '../../src/ledger/index.ts';
import { catalogOf, openWithParts } from '../archive/opened-parts.ts';
import { answers, audit, contentOf, NOON, page, temporaryDirectory, trialOptions } from '../archive/trial-archive.ts';

/** Runs as an older program noted them: old gap, new gap and length of each in base 36. */
function oldMoves(runs: Runs): string {
  let from = 0;
  let to = 0;
  const numbers: string[] = [];
  for (const { rootOffset, offset, bytes } of runs) {
    numbers.push(...[rootOffset - from, offset - to, bytes].map((number) => number.toString(36)));
    from = rootOffset;
    to = offset;
  }
  return Buffer.from(deflateRawSync(utf8(numbers.join(' ')))).toString('base64url');
}

for (const until of ['the old segment was forgotten', 'its file was removed'] as const) {
  test(`I3 I6 a swap that an older program began is finished, when it stopped before ${until}`, async (t) => {
    const directory = await temporaryDirectory(t);
    await createArchive(directory);
    const archive = await openWithParts(directory, trialOptions());
    const urlOf = (n: number) => `http://x.example/${n}`;
    // The holder of the content of 0 and 4 is deleted, so 4 gets the content.
    for (let n = 0; n < 8; n++) await archive.store(page(urlOf(n), NOON + n, contentOf(`p${n % 4}`, 2000)));
    await archive.delete({ url: urlOf(0) });
    await archive.setVolumeWritable('main', false);
    await archive.setVolumeWritable('main', true);
    const before = (await answers(archive)).length;
    const old = (await archive.segments()).find(({ deadBytes }) => deadBytes > 0)!;
    const catalog = catalogOf(archive);
    const commit = catalog.commit.bind(catalog);
    catalog.commit = async (group) => {
      const isLast = group.segments?.some(({ to }) => !to);
      if (isLast && until === 'the old segment was forgotten') throw new Error('killed');
      const outcome = await commit(group);
      if (isLast) throw new Error('killed');
      return outcome;
    };
    await assert.rejects(archive.compact(), /killed/);
    catalog.commit = commit;
    const notes = await catalog.notes();
    const [name] = (await catalog.segments()).flatMap((row) => (notes[`runs:${row.name}`] ? [row.name] : []));
    const row = (await catalog.segmentByName(name!))!;
    const { number, state, bytes, volume } = row;
    const runs = Runs.parseNote(notes[`runs:${name}`]!)!;
    const outcome = await catalog.commit({
      segments: [{ number, from: { state, bytes, volume }, to: { records: 2, ...({ roots: undefined } as object) } }],
      removeNotes: [`swapping:${name}`, `runs:${name}`, `replaced:${old.name}`],
      putNotes: {
        [`adopting:${name}`]: old.name,
        [`lineage:${name}`]: JSON.stringify([1, 1, NOON]),
        [`moves:${name}`]: oldMoves(runs),
      },
    });
    assert.equal(outcome.kind, 'committed');
    await archive.close();

    const again = await openWithParts(directory, trialOptions({ seed: 2 }));
    assert.deepEqual(Object.keys(await catalogOf(again).notes('adopting:')), []);
    assert.equal((await answers(again)).length, before);
    assert.deepEqual(await audit(again), []);
    await assert.rejects(stat(join(directory, 'volumes/main', old.name)), { code: 'ENOENT' });
    await again.compact();
    assert.deepEqual(await audit(again), []);
    assert.equal((await again.verify({ depth: 'full' })).errors, 0);
    const left = await answers(again);
    await again.close();
    const last = await openArchive(directory, trialOptions({ seed: 3 }));
    assert.deepEqual(await answers(last), left);
    assert.equal(left.length, before);
    await last.close();
  });
}
