/** Revisits whose original is missing: looked for again when something came in, and left in peace when nothing did. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openArchive } from '../../src/archive/index.ts';
import { response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import { audit, bytesOf, contentOf, makeArchive, NOON, page, trialOptions } from './trial-archive.ts';

const URL_OF = (n: number) => `http://revisit.example/${n}`;

test('an unresolved revisit is read again only after records came in, and finds its original when that does', async (t) => {
  const archive = await makeArchive(t);
  const original = response('http://original.example/', NOON, contentOf('original'));
  const revisits = Array.from({ length: 5 }, (_, n) => revisitOf(original, URL_OF(n), NOON + 1000 * (n + 1)));
  const early = await writeForeign(join(archive.directory, 'early.warc.gz'), [warcinfo(), ...revisits]);
  const late = await writeForeign(join(archive.directory, 'late.warc.gz'), [warcinfo(), original]);
  assert.equal((await archive.add([early], { workers: 0 })).unresolved, 5);
  const reads = t.mock.method(archive.access, 'open');
  await archive.add([early], { workers: 0 });
  assert.equal(reads.mock.callCount(), 0, 'adding what is there already costs nothing');
  await archive.store(page('http://other.example/', NOON, contentOf('other')));
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  assert.equal((await again.stats()).unresolvedRevisits, 5);
  // One of them leaves, its segment is written anew, and the notes of the others move with them.
  await again.delete({ url: URL_OF(0) });
  await again.compact();
  assert.equal((await again.stats()).unresolvedRevisits, 4);
  assert.equal((await again.add([late], { workers: 0 })).captures, 1);
  assert.equal((await again.stats()).unresolvedRevisits, 0);
  for (let n = 1; n < 5; n++)
    assert.deepEqual(await bytesOf((await again.get(URL_OF(n))).payload), Buffer.from(contentOf('original')));
  assert.deepEqual(await audit(again), []);
});
