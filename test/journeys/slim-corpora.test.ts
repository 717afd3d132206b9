/** Slims the shared corpora: real files of many crawlers, valid and malformed, in place and to a target. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ArchivedRecord, capturesOf, readAll } from '../slim/archived-captures.ts';
import { filesBelow } from '../slim/slim-options.ts';
import { pinakes, pinakesJson } from './pinakes-runner.ts';

const CORPORA = fileURLToPath(new URL('../../../shared/corpora/', import.meta.url));
const FOLDERS = ['arc', 'gzip', 'warc-http-bodies', 'warc-malformed', 'warc-revisit', 'warc-valid', 'zstd'];
const skip = !existsSync(CORPORA) && 'shared corpora absent';

/** ARC documents that are not HTTP messages become resources. This test counts them as the same captures. */
function capturesIn(records: readonly ArchivedRecord[]): string[] {
  const lines = capturesOf(records).filter((line) => /^(response|resource) /.test(line));
  return lines.map((line) => line.replace(/^(response|resource) /, '')).sort();
}

describe('the hand-over corpora', { skip }, async () => {
  let base = '';
  const place = (name: string) => join(base, name);

  before(async () => {
    base = mkdtempSync(join(tmpdir(), 'pinakes-corpora-'));
    for (const folder of FOLDERS) {
      const from = join(CORPORA, folder);
      if (!existsSync(from)) continue;
      for (const path of filesBelow(from)) {
        // Some files of the corpora have names that differ only in the suffix of their compression or format, so each
        // gets a separate directory in the target.
        cpSync(
          path,
          join(
            place('source'),
            folder,
            path
              .slice(from.length)
              .replaceAll('/', '_')
              .replace(/^_/, '')
              .replace(/(\.[^.]+)?\.(arc|warc)/, '$1-$2/file.$2'),
          ),
        );
      }
    }
    cpSync(place('source'), place('in-place'), { recursive: true });
  });

  after(() => rmSync(base, { recursive: true, force: true }));

  test('have the same captures with the same payloads after a run in place', async () => {
    const earlier = await readAll(filesBelow(place('source')));
    const { code, err } = await pinakes(base, 'slim', 'run', place('in-place'), '--in-place', '--json');
    assert.equal(code, 1, err);
    const later = await readAll(filesBelow(place('in-place')));
    assert.deepEqual(capturesIn(later), capturesIn(earlier));
    const count = (records: ArchivedRecord[]) => records.filter(({ type }) => type === 'revisit').length;
    assert.ok(count(later) > count(earlier) + 50, `${count(earlier)} revisits before, ${count(later)} after`);
  });

  test('have the same captures with the same payloads in a target, where ARC files are converted', async () => {
    const earlier = await readAll(filesBelow(place('source')));
    const lines = await pinakesJson(base, 'slim', 'run', place('source'), '--to', place('target'), '--json');
    const summary = lines.at(-1)!;
    assert.equal(summary.kind, 'summary');
    const later = await readAll(filesBelow(place('target')));
    assert.deepEqual(capturesIn(later), capturesIn(earlier));
    assert.equal(filesBelow(place('target')).length, filesBelow(place('source')).length);
    assert.ok((summary.bytesAfter as number) < (summary.bytesBefore as number));
  });

  test('have no duplicates left that are worth a revisit after a run', async () => {
    const summary = (await pinakesJson(base, 'slim', 'run', place('in-place'), '--in-place', '--json')).at(-1)!;
    assert.equal(summary.revisits, 0);
  });
});

for (const [kind, revisits, path] of [
  ['WARC', 45, 'warc-valid/netarchivesuite+jwat/jwat-warc__src__IAH-20080430204825-00000-blackbook.warc.gz'],
  ['ARC', 47, 'arc/netarchivesuite+jwat/jwat-arc__src__IAH-20080430204825-00000-blackbook.arc.gz'],
] as const) {
  test(`the blackbook crawl as ${kind} has 261 responses by HTTP, of which 72 are exact duplicates`, {
    skip,
  }, async (t) => {
    const base = mkdtempSync(join(tmpdir(), 'pinakes-blackbook-'));
    try {
      const file = join(base, path.split('/').pop()!);
      cpSync(join(CORPORA, path), file);
      const earlier = await readAll([file]);
      const responses = earlier.filter(({ type, uri }) => type === 'response' && /^https?:/.test(uri));
      assert.equal(responses.length, 261);
      const [summary] = (await pinakesJson(base, 'slim', 'run', file, '--to', join(base, 'target'), '--json')).slice(
        -1,
      );
      assert.equal(summary!.duplicates, 72);
      assert.equal(summary!.collisions, 0);
      // Redirects with a short body, whose revisits would be larger.
      assert.equal(summary!.revisits, revisits);
      t.diagnostic(JSON.stringify(summary));
      const later = await readAll(filesBelow(join(base, 'target')));
      assert.deepEqual(capturesIn(later), capturesIn(earlier));
      const assessed = (await pinakesJson(base, 'slim', 'assess', file, '--json')).at(-1)!;
      assert.equal((assessed.contents as { duplicates: number }).duplicates, 72);
    } finally {
      rmSync(base, { recursive: true });
    }
  });
}
