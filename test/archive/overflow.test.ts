/**
 * Contents that were deliberately stored again have a key with an overflow number. The key stays valid through adds,
 * deletions and rebuilds.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { response, warcinfo, writeForeign } from './foreign-file.ts';
import { answers, audit, bytesOf, contentOf, makeArchive, NOON, page } from './trial-archive.ts';

for (const inPlace of [false, true]) {
  test(`a key with an overflow number is valid after a rebuild, ${inPlace ? 'with a file added in place' : 'with a copied file'}`, async (t) => {
    const archive = await makeArchive(t, { policies: { dedupBytesMin: 1000 } });
    const body = contentOf('small', 500);
    const first = await archive.store(page('https://a.example/first', NOON, body));
    const second = await archive.store(page('https://a.example/second', NOON, body), { mode: 'force-new' });
    assert.match(second.key, /~1$/);
    await archive.delete({ url: 'https://a.example/first' });
    await archive.compact();
    await assert.rejects(archive.content(first.key), { code: 'CONTENT_MISSING' });
    // Too small to become a revisit, so its record does not mention overflows.
    const added = response('https://b.example/', NOON, body);
    const file = await writeForeign(join(archive.directory, 'other.warc.gz'), [warcinfo(), added]);
    await archive.add([file], { workers: 1, inPlace });
    const before = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), before);
    await archive.delete({ url: 'https://a.example/second' });
    await archive.compact();
    const left = await answers(archive);
    await archive.rebuild();
    assert.deepEqual(await answers(archive), left);
    const { block } = (await archive.get('https://b.example/')).capture;
    assert.deepEqual(await bytesOf((await archive.content(first.key)).payload), Buffer.from(body));
    assert.equal(block!.overflow, 0);
    assert.deepEqual(await audit(archive), []);
  });
}
