/**
 * Writers name one content by different digests. A foreign revisit with one of these names finds the content, whichever
 * capture had the name.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ForeignRecord, response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import { audit, bytesOf, contentOf, makeArchive, NOON } from './trial-archive.ts';

/** More than one step of an add takes. */
const FILLING = 2100;
const BODY = contentOf('one content of many names');

/** The same record with another name for its content. */
function called(name: string, { record, block }: ForeignRecord): ForeignRecord {
  return { record: { ...record, payloadDigest: name }, block };
}

const nameOf = (algorithm: string) => `${algorithm}:${createHash(algorithm).update(BODY).digest('hex')}`;
const original = () => response('http://first.example/', NOON, BODY);
const copy = (n: number, name: string) => called(name, response(`http://copy.example/${n}`, NOON + 1000 * n, BODY));
const filling = () =>
  Array.from({ length: FILLING }, (_, n) => response(`http://other.example/${n}`, NOON + n, contentOf(`other ${n}`)));

const journeys: readonly { readonly when: string; readonly files: () => ForeignRecord[][] }[] = [
  { when: 'in the same step', files: () => [[original(), copy(1, nameOf('md5')), copy(2, nameOf('md5'))]] },
  {
    when: 'in a later step',
    files: () => [[original(), ...filling(), copy(1, nameOf('md5')), copy(2, nameOf('md5'))]],
  },
  { when: 'with another file', files: () => [[original()], [copy(1, nameOf('md5'))], [copy(2, nameOf('md5'))]] },
  {
    when: 'after another name, in later steps',
    files: () => [
      [original(), ...filling(), copy(1, nameOf('sha512')), ...filling().slice(0, 1), copy(2, nameOf('md5'))],
    ],
  },
];

for (const { when, files } of journeys) {
  test(`a revisit finds the content by a digest that only a duplicate declares (${when})`, async (t) => {
    const archive = await makeArchive(t);
    for (const [index, records] of files().entries()) {
      const file = await writeForeign(join(archive.directory, `${index}.warc.gz`), [warcinfo(), ...records]);
      await archive.add([file], { workers: 0 });
    }
    const revisit = called(nameOf('md5'), revisitOf(original(), 'http://revisit.example/', NOON + 10_000_000, false));
    const last = await writeForeign(join(archive.directory, 'last.warc.gz'), [warcinfo(), revisit]);
    const { unresolved } = await archive.add([last], { workers: 0 });
    assert.equal(unresolved, 0);
    assert.deepEqual(await bytesOf((await archive.get('http://revisit.example/')).payload), Buffer.from(BODY));
    assert.deepEqual(await audit(archive), ['a revisit points at undefined undefined, which is not there']);
  });
}
