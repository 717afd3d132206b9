/** The separate stages give the result of a whole run, byte for byte, with Parquet manifests and with text. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Difference, ManifestFormat } from '../../src/slim/index.ts';
import { slimCompare, slimResolve, slimRun, slimSplit, slimSum } from '../../src/slim/index.ts';
import { capturesOf, readAll } from './archived-captures.ts';
import { bodyOf, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, runOptions } from './slim-options.ts';

const watch = { onFinding: () => {}, onFailure: assert.fail };

describe('slim by stages', () => {
  let base = '';
  let collection = '';
  let whole = '';
  let manifest = '';

  before(async () => {
    base = mkdtempSync(join(tmpdir(), 'pinakes-stages-'));
    collection = join(base, 'collection');
    whole = join(base, 'whole');
    manifest = join(base, 'manifest.parquet');
    await writeSampleCollection(collection, 21, { pages: 40 });
    cpSync(collection, whole, { recursive: true });
    await slimRun(runOptions(whole).options);
    await sum(collection, manifest);
  });

  after(() => rmSync(base, { recursive: true }));

  const sum = (
    directory: string,
    out: string,
    format: ManifestFormat = 'parquet',
    more: { keepEmpty?: boolean; trustHeaders?: boolean; files?: string[] } = {},
  ) =>
    slimSum({
      ...watch,
      files: filesBelow(directory),
      out,
      format,
      algorithm: 'sha256',
      trustHeaders: false,
      keepEmpty: false,
      workers: 2,
      ...more,
    });

  const resolve = (manifests: string[], out: string, format: ManifestFormat = 'parquet') =>
    slimResolve({ ...watch, manifests, out, format, verify: 'digest', workers: 2 });

  /** Rewrites a copy from resolved manifests, and returns its directory. */
  async function refs(manifests: readonly string[], name: string): Promise<string> {
    const copy = join(base, name);
    cpSync(collection, copy, { recursive: true });
    const { options, failures } = runOptions(copy);
    // The manifests have the paths of the collection. The copies are found by their file names.
    await slimRun({ ...options, resolved: { manifests, trustOriginals: false } });
    assert.deepEqual(failures, []);
    return copy;
  }

  const images = (directory: string) => filesBelow(directory).map((path) => readFileSync(path));

  test('sum, resolve and refs give the files of a whole run', async () => {
    const resolved = join(base, 'resolved.parquet');
    const report = await resolve([manifest], resolved);
    assert.ok(report.duplicates > 0);
    assert.equal(report.comparedBytes, false);
    assert.deepEqual(images(await refs([resolved], 'by-stages')), images(whole));
  });

  test('a manifest that is split and resolved in parts gives the same result', async () => {
    const parts = await slimSplit({ manifests: [manifest], parts: 5, out: join(base, 'parts'), format: 'parquet' });
    assert.equal(parts.length, 5);
    const resolved: string[] = [];
    for (const { path } of parts) {
      resolved.push(`${path}.resolved`);
      await resolve([path], resolved.at(-1)!);
    }
    assert.deepEqual(images(await refs(resolved, 'by-parts')), images(whole));
  });

  test('after a split, no revisit refers to a place or a record id that several contents share', async () => {
    const directory = mkdtempSync(join(base, 'shared-place-'));
    const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
    const date = '2023-01-01T00:00:00Z';
    const recordId = '<urn:uuid:00000000-0000-4000-8000-000000000001>';
    for (const page of [1, 2]) await sample.page({ uri: 'http://a.example/place', body: bodyOf(page), date });
    for (const page of [3, 4]) await sample.page({ uri: `http://a.example/id/${page}`, body: bodyOf(page), recordId });
    for (const page of [1, 2, 3, 4, 5, 5]) {
      await sample.page({ uri: `http://a.example/${page}`, body: bodyOf(page) });
    }
    await sample.finish();
    const [summed, out] = [join(directory, 'summed'), join(directory, 'parts')];
    await sum(directory, summed);
    let duplicates = 0;
    for (const { path } of await slimSplit({ manifests: [summed], parts: 16, out, format: 'parquet' }))
      duplicates += (await resolve([path], `${path}.resolved`)).duplicates;
    assert.equal(duplicates, 1);
    const { options } = runOptions(directory, { dryRun: true });
    assert.equal((await slimRun(options)).duplicates, 1);
  });

  test('manifests in the layout of warcsum work in all stages, and the captures stay the same', async () => {
    const [text, resolved] = [join(base, 'manifest.txt'), join(base, 'resolved.txt')];
    await sum(collection, text, 'warcsum');
    const [line = ''] = readFileSync(text, 'utf8').split('\n');
    assert.match(line, /^\S+first\.warc\.gz \d+ \d+ http:\/\/site\S+ 20\S+Z sha256:[0-9a-f]{64}$/);
    const report = await resolve([text], resolved, 'warcsum');
    assert.equal(report.comparedBytes, true);
    for (const resolvedLine of readFileSync(resolved, 'utf8').trimEnd().split('\n')) {
      assert.match(resolvedLine, /^\S+ \d+ \d+ \S+ \S+ sha256:\S+ 0 (1|\d+ http\S+ 20\S+Z)$/);
    }
    const copy = await refs([resolved], 'by-text');
    const later = await readAll(filesBelow(copy));
    assert.deepEqual(capturesOf(later), capturesOf(await readAll(filesBelow(collection))));
    // Text does not show which bodies are chunked, so each content has one original, and records with other chunking
    // stay.
    const pages = (await readAll(filesBelow(collection))).filter(({ type }) => type === 'response');
    const dates = (payload: string | undefined) =>
      pages.filter((page) => page.payload === payload).map(({ date }) => date);
    const originals = pages.filter(({ payload, date }) => date === dates(payload).sort()[0]);
    const alike = pages.filter(({ payload, isChunked }) =>
      originals.some((original) => original.payload === payload && original.isChunked === isChunked),
    );
    assert.equal(later.filter(({ type }) => type === 'revisit').length, alike.length - originals.length);
    assert.ok(alike.length < pages.length);
  });

  test('resolving Parquet to text gives the revisits of a whole run, because Parquet shows which bodies are chunked', async () => {
    const resolved = join(base, 'resolved-as.txt');
    await resolve([manifest], resolved, 'warcsum');
    const later = await readAll(filesBelow(await refs([resolved], 'by-resolved-text')));
    assert.deepEqual(capturesOf(later), capturesOf(await readAll(filesBelow(collection))));
    assert.equal(
      later.filter(({ type }) => type === 'revisit').length,
      (await readAll(filesBelow(whole))).filter(({ type }) => type === 'revisit').length,
    );
  });

  for (const [what, sumFormat, resolveFormat] of [
    ['text', 'warcsum', 'warcsum'],
    ['text that is resolved to Parquet', 'warcsum', 'parquet'],
    ['Parquet that is resolved to text', 'parquet', 'warcsum'],
    ['Parquet', 'parquet', 'parquet'],
  ] as const) {
    test(`with ${what}, the records that revisits and requests refer to stay`, async () => {
      const directory = mkdtempSync(join(base, 'pointed-at-'));
      const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
      const body = bodyOf(1);
      const request = 'POST /5 HTTP/1.1\r\nHost: a.example\r\n\r\nquestion=1';
      await sample.page({ uri: 'http://a.example/1', body });
      await sample.page({ uri: 'http://a.example/2', body });
      const { date } = await sample.page({ uri: 'http://a.example/3', body });
      await sample.revisit('http://a.example/4', { uri: 'http://a.example/3', date }, body);
      await sample.page({ uri: 'http://a.example/5', body, request });
      await sample.finish();
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      await sum(directory, summed, sumFormat);
      await resolve([summed], resolved, resolveFormat);
      const { options, failures } = runOptions(directory);
      await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
      assert.deepEqual(failures, []);
      const captures = (await readAll(filesBelow(directory))).filter(({ type }) => /^re(?!quest)/.test(type));
      assert.deepEqual(
        captures.map(({ type }) => type),
        ['response', 'revisit', 'response', 'revisit', 'response'],
      );
    });
  }

  describe('no record becomes a duplicate of itself or of a record that refers to it,', () => {
    /**
     * Two files with a record of the same content and date, so that the file names decide which record is the original.
     * The second file has another copy.
     */
    async function threePages(): Promise<string> {
      const directory = mkdtempSync(join(base, 'three-'));
      const date = '2024-01-01T00:00:00Z';
      for (const [number, name] of ['x', 'y'].entries()) {
        const sample = await SampleWriter.create(join(directory, `${name}.warc.gz`), 'gzip', number + 1);
        await sample.page({ uri: `http://a.example/${name}`, body: bodyOf(1), date });
        if (name === 'y') await sample.page({ uri: 'http://a.example/z', body: bodyOf(1) });
        await sample.finish();
      }
      return directory;
    }

    /**
     * Rewrites by resolved manifests, checks that all captures have their contents, and returns the number of revisits.
     */
    async function revisitsBy(directory: string, manifests: readonly string[]): Promise<number> {
      const files = filesBelow(directory).filter((path) => !lstatSync(path).isSymbolicLink());
      const earlier = capturesOf(await readAll(files));
      for (const trustOriginals of [true, false]) {
        const { options, failures } = runOptions(directory);
        await slimRun({ ...options, resolved: { manifests, trustOriginals } });
        assert.deepEqual(failures, []);
        assert.deepEqual(capturesOf(await readAll(files)), earlier);
      }
      return (await readAll(files)).filter(({ type }) => type === 'revisit').length;
    }

    test('when its file is in the manifest under two names', async () => {
      const directory = await threePages();
      for (const name of ['x', 'y']) symlinkSync(`${name}.warc.gz`, join(directory, `${name}-again.warc.gz`));
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      await sum(directory, summed);
      await resolve([summed], resolved);
      assert.equal(await revisitsBy(directory, [resolved]), 2);
    });

    test('when it is in several manifests', async () => {
      const directory = await threePages();
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      await sum(directory, summed);
      const { duplicates } = await resolve([summed, summed, summed], resolved);
      assert.ok(duplicates >= 2);
      assert.equal(await revisitsBy(directory, [resolved]), 2);
    });

    test('and duplicates are counted by records of this machine, not by lines', async () => {
      const directory = await threePages();
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      await sum(directory, summed);
      await resolve([summed], resolved);
      const elsewhere = await threePages();
      const [other, resolvedThere] = [join(elsewhere, 'summed'), join(elsewhere, 'resolved')];
      renameSync(join(elsewhere, 'y.warc.gz'), join(elsewhere, 'there.warc.gz'));
      await sum(elsewhere, other);
      await resolve([other], resolvedThere);
      rmSync(join(elsewhere, 'x.warc.gz'));
      const manifests = [resolved, resolved, resolvedThere];
      const { options, findings } = runOptions(directory, { dryRun: true });
      const summary = await slimRun({ ...options, resolved: { manifests, trustOriginals: false } });
      assert.deepEqual([summary.duplicates, summary.revisits, summary.stayed.original], [2, 2, 0]);
      assert.deepEqual(findings, []);
      // The original is on another machine.
      const inputs = [{ path: join(directory, 'y.warc.gz'), root: directory }];
      rmSync(join(directory, 'x.warc.gz'));
      const alone = await slimRun({
        ...runOptions(directory, { dryRun: true, inputs }).options,
        resolved: { manifests, trustOriginals: false },
      });
      assert.deepEqual([alone.duplicates, alone.revisits, alone.stayed.original], [2, 0, 2]);
    });

    test('when manifests that were resolved separately contradict each other', async () => {
      const directory = await threePages();
      const others = join(directory, 'others');
      mkdirSync(others);
      symlinkSync('../y.warc.gz', join(others, '1.warc.gz'));
      symlinkSync('../x.warc.gz', join(others, '2.warc.gz'));
      const resolved: string[] = [];
      for (const files of [
        ['x.warc.gz', 'y.warc.gz'],
        ['others/1.warc.gz', 'others/2.warc.gz'],
      ]) {
        const out = join(directory, `summed-${resolved.length}`);
        await sum(directory, out, 'parquet', { files: files.map((name) => join(directory, name)) });
        resolved.push(`${out}-resolved`);
        await resolve([out], resolved.at(-1)!);
      }
      assert.equal(await revisitsBy(directory, resolved), 1);
    });

    test('when manifests of the same files are used one after the other', async () => {
      const directory = await threePages();
      const resolved: string[] = [];
      for (const names of [['y'], ['x', 'y']]) {
        const out = join(directory, `summed-${resolved.length}`);
        const files = names.map((name) => join(directory, `${name}.warc.gz`));
        await sum(directory, out, 'parquet', { files });
        resolved.push(`${out}-resolved`);
        await resolve([out], resolved.at(-1)!);
      }
      for (const manifest of resolved) assert.equal(await revisitsBy(directory, [manifest]), 1);
    });

    test('when the original is known only by URI and date', async () => {
      const directory = await threePages();
      const summed = join(directory, 'summed');
      await sum(directory, summed, 'warcsum');
      const [x, y, z] = readFileSync(summed, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' '));
      // No line has copy number 1, which is the number of an original.
      for (const [name, pairs] of Object.entries({
        'in-turn': [
          [x, y],
          [y, x],
        ],
        itself: [[z, z]],
        chain: [
          [x, z],
          [y, x],
        ],
        back: [[x, y]],
      })) {
        const lines = pairs.map(([duplicate, original]) => [...duplicate!, 0, 2, original![3], original![4]].join(' '));
        writeFileSync(join(directory, name), `${lines.join('\n')}\n`);
      }
      assert.equal(await revisitsBy(directory, [join(directory, 'in-turn')]), 0);
      assert.equal(await revisitsBy(directory, [join(directory, 'itself')]), 0);
      assert.equal(await revisitsBy(directory, [join(directory, 'chain')]), 1);
      assert.equal(await revisitsBy(directory, [join(directory, 'back')]), 1);
    });

    test('when its file has a path of another machine, and two files on this machine have the same name', async () => {
      const directory = await threePages();
      const paths = ['x', 'y'].map((name) => join(directory, `${name}.warc.gz`));
      const resolved: string[] = [];
      for (const [number, path] of paths.entries()) {
        const elsewhere = mkdtempSync(join(base, 'a-machine-'));
        cpSync(path, join(elsewhere, basename(path)));
        const out = join(directory, `summed-${number}`);
        await sum(directory, out, 'parquet', { files: [join(elsewhere, basename(path)), paths[1 - number]!] });
        resolved.push(`${out}-resolved`);
        await resolve([out], resolved.at(-1)!);
        rmSync(elsewhere, { recursive: true });
        mkdirSync(join(directory, 'another'), { recursive: true });
        const sample = await SampleWriter.create(join(directory, 'another', basename(path)), 'gzip', number + 7);
        await sample.page({ uri: `http://a.example/another/${number}`, body: bodyOf(number + 7) });
        await sample.finish();
      }
      assert.equal(await revisitsBy(directory, resolved), 1);
    });
  });

  test('compare finds no difference between a collection before and after a run', async () => {
    const after = join(base, 'after.parquet');
    await sum(whole, after);
    const differences: Difference[] = [];
    const report = await slimCompare({
      before: [manifest],
      after: [after],
      directory: join(base, 'compare'),
      onDifference: async (difference) => {
        differences.push(difference);
      },
    });
    assert.deepEqual(differences, []);
    assert.equal(report.capturesBefore, report.capturesAfter);
    assert.equal(report.unresolvedAfter, 0);
    assert.ok(report.revisitsAfter > 0);
  });

  test('compare finds no difference between a manifest and itself, even for records without URI and date', async () => {
    const directory = mkdtempSync(join(base, 'nameless-'));
    const fields = ['', 'WARC-Date: 2024-01-01T00:00:00Z\r\n', 'WARC-Target-URI: http://a.example/\r\n'];
    const records = fields.map(
      (more, number) =>
        `WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:sample:${number}>\r\n${more}` +
        'Content-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n',
    );
    writeFileSync(join(directory, 'one.warc'), records.join(''));
    const own = join(directory, 'manifest.parquet');
    await sum(directory, own);
    const report = await slimCompare({
      before: [own],
      after: [own],
      directory: join(directory, 'compare'),
      onDifference: async (difference) => assert.fail(JSON.stringify(difference)),
    });
    assert.equal(report.capturesBefore, 3);
    assert.deepEqual([report.missing, report.added], [0, 0]);
  });

  test('a Parquet manifest that was made from text has no sizes, and is compared without sizes and resolved by bytes', async () => {
    const [text, parts] = [join(base, 'without-sizes.txt'), join(base, 'without-sizes')];
    await sum(collection, text, 'warcsum');
    const [part] = await slimSplit({ manifests: [text], parts: 1, out: parts, format: 'parquet' });
    for (const [before, after] of [
      [part!.path, part!.path],
      [text, part!.path],
    ] as const) {
      const report = await slimCompare({
        before: [before],
        after: [after],
        directory: join(base, 'compare'),
        onDifference: async (difference) => assert.fail(JSON.stringify(difference)),
      });
      assert.ok(report.capturesAfter > 0);
    }
    assert.equal((await resolve([part!.path], join(base, 'without-sizes.resolved'))).comparedBytes, true);
  });

  test('compare reports a missing capture and a capture with another content', async () => {
    const broken = join(base, 'broken');
    mkdirSync(broken);
    await writeSampleCollection(broken, 21, { pages: 39 });
    const after = join(base, 'broken.parquet');
    await sum(broken, after);
    let [missing, added] = [0, 0];
    const report = await slimCompare({
      before: [manifest],
      after: [after],
      directory: join(base, 'compare'),
      onDifference: async ({ kind, count }) => {
        if (kind === 'missing') missing += count;
        else added += count;
      },
    });
    assert.ok(missing > 0 && added > 0);
    assert.deepEqual([report.missing, report.added], [missing, added]);
  });

  test('a file that changed after its manifest was made stays unchanged', async () => {
    const resolved = join(base, 'resolved.parquet');
    const copy = join(base, 'changed');
    cpSync(collection, copy, { recursive: true });
    const [first] = filesBelow(copy);
    const image = readFileSync(first!);
    // Flips two bytes in the compressed content of every record, so that the heads stay right.
    for (let at = 2000; at < image.length; at += 900) image[at]! ^= 0xff;
    writeFileSync(first!, image);
    const { options, findings } = runOptions(copy);
    await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
    assert.deepEqual(readFileSync(first!), image);
    assert.ok(findings.some(({ code }) => code === 'slim-duplicate-differs' || code === 'slim-original-unusable'));
  });

  for (const coding of ['gzip', 'none', 'zstd'] as const) {
    test(`a manifest with a wrong record length does not damage the records beside it (${coding})`, async () => {
      const directory = mkdtempSync(join(base, 'edited-'));
      const sample = await SampleWriter.create(join(directory, 'one.warc'), coding, 1);
      for (const page of [1, 1, 2, 3]) await sample.page({ uri: `http://a.example/${page}`, body: bodyOf(page) });
      await sample.finish();
      const earlier = capturesOf(await readAll(filesBelow(directory)));
      const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
      await sum(directory, summed, 'warcsum');
      await resolve([summed], resolved, 'warcsum');
      const [first, second, third, fourth] = readFileSync(resolved, 'utf8').split('\n');
      const [file, offset, length, ...rest] = second!.split(' ');
      const toThird = Number(third!.split(' ')[1]) - Number(offset);
      const toFourth = Number(fourth!.split(' ')[1]) - Number(offset);
      for (const wrong of [toThird, toFourth, Number(length) - 40, Number(length) + 4]) {
        writeFileSync(resolved, `${first}\n${[file, offset, wrong, ...rest].join(' ')}\n`);
        const { options } = runOptions(directory);
        await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
        assert.deepEqual(capturesOf(await readAll(filesBelow(directory))), earlier);
      }
      writeFileSync(resolved, `${first}\n${second}\n`);
      const { options } = runOptions(directory);
      const summary = await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: false } });
      assert.equal(summary.revisits, 1);
      assert.deepEqual(capturesOf(await readAll(filesBelow(directory))), earlier);
    });
  }

  test('split replaces existing parts only with force', async () => {
    const out = join(base, 'parts-again');
    const split = (force: boolean) => slimSplit({ manifests: [manifest], parts: 2, out, format: 'parquet', force });
    const [, second] = await split(false);
    writeFileSync(second!.path, 'the part of another collection');
    rmSync(join(out, 'part-0001-of-0002.parquet'));
    await assert.rejects(split(false), { code: 'FILE_EXISTS', where: second!.path });
    assert.deepEqual(readdirSync(out), ['part-0002-of-0002.parquet']);
    assert.equal(readFileSync(second!.path, 'utf8'), 'the part of another collection');
    assert.equal((await split(true)).length, 2);
    assert.equal(readFileSync(second!.path, 'latin1').slice(0, 4), 'PAR1');
  });

  test('split writes all parts or none', async () => {
    const out = join(base, 'parts-or-none');
    mkdirSync(join(out, 'part-0002-of-0003.parquet'), { recursive: true });
    const split = slimSplit({ manifests: [manifest], parts: 3, out, format: 'parquet', force: true });
    await assert.rejects(split, { code: 'FILE_IS_DIRECTORY' });
    assert.deepEqual(readdirSync(out), ['part-0002-of-0003.parquet']);
  });

  test('a stage does not use files beside a manifest as temporary files', async () => {
    const out = join(base, 'beside.parquet');
    mkdirSync(`${out}.work`);
    const others = [join(`${out}.work`, 'thesis.txt'), `${out}.tmp`];
    for (const path of others) writeFileSync(path, 'years of work');
    await resolve([manifest], out);
    for (const path of others) assert.equal(readFileSync(path, 'utf8'), 'years of work');
    const beside = readdirSync(base).filter((name) => name.includes('beside.parquet'));
    assert.deepEqual(beside, ['beside.parquet', 'beside.parquet.tmp', 'beside.parquet.work']);
  });

  test('an interrupted stage stops, and leaves no files', async () => {
    const directory = mkdtempSync(join(base, 'interrupted-'));
    const [out, text] = [join(directory, 'out'), join(base, 'to-interrupt.txt')];
    await sum(collection, text, 'warcsum');
    const interrupt = new AbortController();
    const { signal } = interrupt;
    const onProgress = () => interrupt.abort();
    const options = { ...watch, out, format: 'parquet', verify: 'digest', workers: 2, signal } as const;
    await assert.rejects(slimResolve({ ...options, manifests: [manifest], onProgress }), { name: 'AbortError' });
    for (const manifests of [[manifest], [text]]) {
      await assert.rejects(slimSplit({ manifests, parts: 2, out, format: 'parquet', signal }), { name: 'AbortError' });
      const compared = { before: manifests, after: manifests, directory: out, onDifference: async () => {}, signal };
      await assert.rejects(slimCompare(compared), { name: 'AbortError' });
    }
    assert.deepEqual(existsSync(out) ? readdirSync(out) : [], []);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name !== 'out'),
      [],
    );
  });

  test('with trusted manifests, originals on this machine are still checked', async () => {
    const directory = mkdtempSync(join(base, 'trusted-'));
    const [here, gone] = [join(directory, 'a.warc.gz'), join(directory, 'b.warc.gz')] as const;
    for (const [number, path] of [here, gone, join(directory, 'c.warc.gz')].entries()) {
      const sample = await SampleWriter.create(path, 'gzip', number + 1);
      const pages = path === here ? [1] : path === gone ? [2] : [1, 2];
      for (const page of pages) await sample.page({ uri: `http://a.example/${number}/${page}`, body: bodyOf(page) });
      await sample.finish();
    }
    const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
    await sum(directory, summed);
    await resolve([summed], resolved);
    // One original is on another machine, and the other one was overwritten.
    rmSync(gone);
    writeFileSync(here, readFileSync(join(directory, 'c.warc.gz')).subarray(0, 1000));
    const inputs = [{ path: join(directory, 'c.warc.gz'), root: directory }];
    const { options, findings } = runOptions(directory, { inputs });
    await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: true } });
    assert.deepEqual(
      findings.map(({ code, file }) => [code, file]),
      [['slim-original-unusable', here]],
    );
    const types = (await readAll([join(directory, 'c.warc.gz')])).map(({ type }) => type);
    assert.deepEqual(types, ['warcinfo', 'response', 'request', 'revisit', 'request']);
  });

  test('a file of another machine is not confused with a local file of the same name', async () => {
    const directory = mkdtempSync(join(base, 'machines-'));
    const paths = ['elsewhere', 'here'].map((name) => join(directory, name, 'crawl.warc.gz')) as [string, string];
    for (const [number, path] of paths.entries()) {
      mkdirSync(dirname(path));
      const sample = await SampleWriter.create(path, 'none', number + 1);
      for (const page of [1, 2]) await sample.page({ uri: `http://a.example/${number}/${page}`, body: bodyOf(page) });
      await sample.finish();
    }
    const [summed, resolved] = [join(directory, 'summed'), join(directory, 'resolved')];
    await sum(directory, summed);
    await resolve([summed], resolved);
    const earlier = capturesOf(await readAll(paths));
    const away = join(base, 'away.warc.gz');
    renameSync(paths[0], away);
    const { options, findings } = runOptions(join(directory, 'here'));
    await slimRun({ ...options, resolved: { manifests: [resolved], trustOriginals: true } });
    renameSync(away, paths[0]);
    assert.deepEqual(findings, []);
    assert.deepEqual(capturesOf(await readAll(paths)), earlier);
    const types = (await readAll([paths[1]])).map(({ type }) => type);
    assert.deepEqual(types, ['warcinfo', 'revisit', 'request', 'revisit', 'request']);
  });

  test('a file that is not a manifest is refused by name', async () => {
    const text = join(base, 'no-manifest.txt');
    writeFileSync(text, 'this is not\na manifest\n');
    await assert.rejects(resolve([text], join(base, 'x')), { code: 'MANIFEST_UNREADABLE', where: `${text}:1` });
    // A line that is cut off within the date of an original can still be a valid line.
    await sum(collection, text, 'warcsum');
    writeFileSync(text, readFileSync(text, 'utf8').trimEnd());
    await assert.rejects(resolve([text], join(base, 'x')), { code: 'MANIFEST_UNREADABLE', where: text });
    const plain = { manifests: [manifest], trustOriginals: false };
    await assert.rejects(slimRun({ ...runOptions(collection, { dryRun: true }).options, resolved: plain }), {
      code: 'MANIFEST_UNREADABLE',
    });
  });
});
