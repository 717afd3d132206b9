import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { digestOf, formatDigest, parseDigest, utf8 } from '../../src/base/index.ts';
import { slimRun } from '../../src/slim/index.ts';
import { readRecords } from '../../src/warc/index.ts';
import { type ArchivedRecord, capturesOf, originalOf, readAll, storedAs } from './archived-captures.ts';
import { bodyOf, chunked, SAMPLE_FILES, SampleWriter, writeSampleCollection } from './sample-collection.ts';
import { filesBelow, inDirectory, runOptions } from './slim-options.ts';

describe('a run in place over files of every compression', () => {
  let directory = '';
  let kept = '';
  let earlier: ArchivedRecord[] = [];
  let later: ArchivedRecord[] = [];
  let summary: Awaited<ReturnType<typeof slimRun>>;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'pinakes-slim-'));
    kept = `${directory}-kept`;
    await writeSampleCollection(directory, 7);
    earlier = await readAll(filesBelow(directory));
    summary = await slimRun(runOptions(directory, { keptDirectory: kept }).options);
    later = await readAll(filesBelow(directory));
  });

  after(() => {
    rmSync(directory, { recursive: true });
    rmSync(kept, { recursive: true, force: true });
  });

  test('leaves the same captures with the same payloads', () => {
    assert.deepEqual(capturesOf(later), capturesOf(earlier));
    assert.ok(!capturesOf(later).some((line) => line.endsWith('missing')));
  });

  test('turns every duplicate into a revisit and keeps one chunked and one unchunked record of each content', () => {
    const contents = new Set(earlier.filter(({ type }) => type === 'response').map(storedAs));
    const responses = later.filter(({ type }) => type === 'response');
    assert.equal(responses.length, contents.size);
    assert.equal(new Set(responses.map(storedAs)).size, contents.size);
    const revisits = later.filter(({ type }) => type === 'revisit');
    assert.equal(revisits.length, SAMPLE_FILES.length * 20 - contents.size);
    assert.equal(summary.duplicates, revisits.length);
    assert.equal(summary.revisits, revisits.length);
    assert.equal(summary.records, earlier.length);
    assert.equal(summary.collisions, 0);
  });

  test('chooses the earliest capture as the original', () => {
    for (const original of later.filter(({ type }) => type === 'response')) {
      const same = earlier.filter((record) => record.type === 'response' && storedAs(record) === storedAs(original));
      assert.equal(original.date, same.map((record) => record.date).sort()[0]);
    }
  });

  test('every revisit refers to a response by id, URI and date, and never to a revisit', () => {
    for (const revisit of later.filter(({ type }) => type === 'revisit')) {
      const original = originalOf(revisit, later);
      assert.equal(original?.type, 'response');
      assert.equal(original?.isChunked, revisit.isChunked);
      assert.equal(revisit.refersTo, original?.recordId);
      assert.equal(revisit.refersToUri, original?.uri);
      assert.equal(revisit.refersToDate, original?.date);
      assert.match(revisit.profile, /^http:\/\/netpreserve\.org\/warc\/1\.1\/revisit\/identical-payload-digest$/);
    }
  });

  test('writes revisits with the id of the replaced record, WARC-Truncated, and the digest that the original declares', () => {
    const value = (record: ArchivedRecord, name: string) => record.fields.find((field) => field.name === name)?.value;
    for (const revisit of later.filter(({ type }) => type === 'revisit')) {
      const replaced = earlier.find(
        ({ uri, date, type }) => type === 'response' && uri === revisit.uri && date === revisit.date,
      )!;
      assert.equal(value(revisit, 'WARC-Previous-Record-ID'), replaced.recordId);
      assert.notEqual(revisit.recordId, replaced.recordId);
      assert.equal(value(revisit, 'WARC-Truncated'), 'length');
      assert.equal(value(revisit, 'WARC-IP-Address'), '192.0.2.1');
      const original = originalOf(revisit, later)!;
      const declared = value(original, 'WARC-Payload-Digest');
      const digest = value(revisit, 'WARC-Payload-Digest')!;
      if (declared !== undefined) assert.equal(digest, declared);
      else assert.ok(parseDigest(digest), digest);
    }
    const ids = later.map(({ recordId }) => recordId);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('counts the bytes of all files before and after', () => {
    const bytes = (root: string) => filesBelow(root).reduce((sum, path) => sum + statSync(path).size, 0);
    assert.equal(summary.bytesAfter, bytes(directory));
    assert.ok(summary.bytesAfter < summary.bytesBefore);
    const rewritten = filesBelow(kept).length;
    assert.equal(summary.filesRewritten, rewritten);
  });

  test('replaces nothing when it is run again', async () => {
    const images = filesBelow(directory).map((path) => readFileSync(path));
    const again = await slimRun(runOptions(directory).options);
    assert.equal(again.duplicates, 0);
    assert.equal(again.filesRewritten, 0);
    assert.deepEqual(
      filesBelow(directory).map((path) => readFileSync(path)),
      images,
    );
  });
});

test('a URI may contain characters that some tools treat as line ends', async () => {
  await inDirectory(async (directory) => {
    const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
    for (const end of ['\u2028', '\u2029', '\u0085'])
      for (const copy of [1, 2]) await sample.page({ uri: `http://a.example/${end}${copy}`, body: bodyOf(1) });
    await sample.finish();
    const earlier = capturesOf(await readAll(filesBelow(directory)));
    const { options, failures } = runOptions(directory);
    assert.equal((await slimRun(options)).revisits, 5);
    assert.deepEqual(failures, []);
    assert.deepEqual(capturesOf(await readAll(filesBelow(directory))), earlier);
  });
});

test('every kept record is in the new file as the same member, byte for byte', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 3);
    const before = new Map(filesBelow(directory).map((path) => [path, readFileSync(path)]));
    await slimRun(runOptions(directory).options);
    for (const [path, old] of before) {
      const now = readFileSync(path);
      let members = 0;
      for await (const record of readRecords(path)) {
        for await (const _ of record.body());
        if (record.head.type === 'revisit') continue;
        const member = now.subarray(record.head.offset, record.head.offset + record.tail!.length!);
        assert.ok(old.includes(member), `${path}:${record.head.offset}`);
        members++;
      }
      assert.ok(members > 20);
    }
  });
});

test('a target contains the whole collection, and the source is unchanged', async () => {
  await inDirectory(async (directory) => {
    const [source, target, inPlace] = ['source', 'target', 'in-place'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    await writeSampleCollection(source, 5);
    cpSync(source, inPlace, { recursive: true });
    const images = filesBelow(source).map((path) => readFileSync(path));
    const summary = await slimRun(runOptions(source, { target }).options);
    assert.deepEqual(
      filesBelow(source).map((path) => readFileSync(path)),
      images,
    );
    await slimRun(runOptions(inPlace).options);
    const contents = (root: string) => filesBelow(root).map((path) => [path.slice(root.length), readFileSync(path)]);
    assert.deepEqual(contents(target), contents(inPlace));
    assert.equal(summary.filesRewritten, 4);
  });
});

describe('records that must not become revisits', () => {
  /** Writes one file, slims it, and returns the type of the record of each URI. */
  async function typesAfter(
    write: (sample: SampleWriter) => Promise<void>,
    look?: (later: readonly ArchivedRecord[]) => void,
  ): Promise<Map<string, string>> {
    const types = new Map<string, string>();
    await inDirectory(async (directory) => {
      const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
      await write(sample);
      await sample.finish();
      const earlier = await readAll(filesBelow(directory));
      const { options, failures } = runOptions(directory);
      await slimRun(options);
      const later = await readAll(filesBelow(directory));
      assert.deepEqual(failures, []);
      assert.deepEqual(capturesOf(later), capturesOf(earlier));
      for (const { uri, type } of later) if (type !== 'request' && type !== 'warcinfo') types.set(uri, type);
      look?.(later);
    });
    return types;
  }

  const [first, second, third] = ['http://a.example/1', 'http://a.example/2', 'http://a.example/3'] as const;
  const body = bodyOf(1);

  test('a plain duplicate becomes a revisit, so that the other cases are meaningful', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body });
    });
    assert.deepEqual(
      [...types],
      [
        [first, 'response'],
        [second, 'revisit'],
      ],
    );
  });

  test('an empty payload', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body: new Uint8Array(0) });
      await sample.page({ uri: second, body: new Uint8Array(0) });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
  });

  test('a payload so small that its revisit would be larger', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body: bodyOf(1, 10) });
      await sample.page({ uri: second, body: bodyOf(1, 10) });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
  });

  test('the original of an existing revisit, found by id', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      const { recordId } = await sample.page({ uri: second, body });
      await sample.revisit(third, { uri: 'http://elsewhere.example/', date: '2001-01-01T00:00:00Z', recordId }, body);
    });
    assert.deepEqual(
      [...types],
      [
        [first, 'response'],
        [second, 'response'],
        [third, 'revisit'],
      ],
    );
  });

  test('the original of an existing revisit, found by URI and date', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      const { date } = await sample.page({ uri: second, body });
      await sample.revisit(third, { uri: second, date }, body);
    });
    assert.deepEqual(
      [...types],
      [
        [first, 'response'],
        [second, 'response'],
        [third, 'revisit'],
      ],
    );
  });

  test('the response to a request with a body, which replay finds only beside its request', async () => {
    const request = 'POST /2 HTTP/1.1\r\nHost: a.example\r\nContent-Type: text/plain\r\n\r\nquestion=1';
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body, request });
      await sample.page({ uri: third, body });
    });
    assert.deepEqual(
      [...types],
      [
        [first, 'response'],
        [second, 'response'],
        [third, 'revisit'],
      ],
    );
  });

  for (const [what, start, content] of [
    ['with a body', 'POST', 'question=1'],
    ['without a body, but not a GET', 'POST', ''],
    ['of another kind', 'OPTIONS', ''],
  ] as const) {
    test(`the response to a request ${what}, which is not an original either`, async () => {
      const request = `${start} /1 HTTP/1.1\r\nHost: a.example\r\n\r\n${content}`;
      let leansOn: string | undefined;
      const write = async (sample: SampleWriter) => {
        await sample.page({ uri: first, body, request });
        await sample.page({ uri: second, body });
        await sample.page({ uri: third, body });
        await sample.page({ uri: 'http://a.example/4', body, request });
      };
      const types = await typesAfter(write, (later) => {
        leansOn = later.find(({ type }) => type === 'revisit')?.refersToUri;
      });
      assert.deepEqual([...types.values()], ['response', 'response', 'revisit', 'response']);
      assert.equal(leansOn, second);
    });
  }

  for (const [what, uriOf, secondsOff] of [
    ['whose date is a second off', (uri: string) => uri, 1],
    ['whose date is an hour off', (uri: string) => uri, 3600],
    ['whose URI is written otherwise', (uri: string) => uri.replace('http://a.', 'HTTP://A.'), 0],
    ['whose date is off and whose URI is written otherwise', (uri: string) => uri.replace('a.ex', 'A.EX'), 3600],
  ] as const) {
    test(`the original of an existing revisit, ${what}`, async () => {
      const types = await typesAfter(async (sample) => {
        await sample.page({ uri: first, body });
        const { date } = await sample.page({ uri: second, body });
        const off = new Date(Date.parse(date) + secondsOff * 1000).toISOString();
        await sample.revisit(third, { uri: uriOf(second), date: off }, body);
      });
      assert.deepEqual([...types.values()], ['response', 'response', 'revisit']);
    });
  }

  test('the original of an existing revisit, whose id is written without its brackets', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      const { recordId } = await sample.page({ uri: second, body });
      const bare = recordId.slice(1, -1).toUpperCase();
      await sample.revisit(
        third,
        { uri: 'http://elsewhere.example/', date: '2001-01-01T00:00:00Z', recordId: bare },
        body,
      );
    });
    assert.deepEqual([...types.values()], ['response', 'response', 'revisit']);
  });

  test('the original of an existing revisit, found by the digest that indexers compute when the original declares none', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body, withDigest: false });
      await sample.revisit(third, { uri: second, date: '2001-01-01T00:00:00Z' }, body);
    });
    assert.deepEqual([...types.values()], ['response', 'response', 'revisit']);
  });

  test('the captures of the URI of a revisit without time and digest that names a missing record', async () => {
    const write = async (sample: SampleWriter) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body });
      await sample.write(
        {
          type: 'revisit',
          recordId: sample.newId(),
          date: sample.nextDate(),
          targetUri: second,
          contentType: 'application/http; msgtype=response',
          revisit: { profile: 'server-not-modified', refersTo: sample.newId() },
        },
        utf8('HTTP/1.1 304 Not Modified\r\n\r\n'),
      );
    };
    await typesAfter(write, (later) => {
      assert.equal(later.filter(({ type }) => type === 'response').length, 2);
    });
  });

  test('a truncated record, which is not an original either', async () => {
    const fields = [{ name: 'WARC-Truncated', value: 'length' }];
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body, fields });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
    const others = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body, fields });
      await sample.page({ uri: second, body });
    });
    assert.deepEqual([...others.values()], ['response', 'response']);
  });

  test('a body with another content coding than the original, which would be decoded wrongly', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body, head: 'Content-Type: text/html\r\nContent-Encoding: br\r\n' });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
  });

  test('a resource record, which is not an original of a response either, since replay would not show the head of the response', async () => {
    const types = await typesAfter(async (sample) => {
      await sample.resource(first, body);
      await sample.resource(second, body);
      await sample.page({ uri: third, body });
    });
    assert.deepEqual(
      [...types],
      [
        [first, 'resource'],
        [second, 'resource'],
        [third, 'response'],
      ],
    );
  });

  test('a duplicate whose only original shares URI and second with another content, since replay could find the wrong content', async () => {
    const types = await typesAfter(async (sample) => {
      const date = sample.nextDate();
      await sample.page({ uri: first, body, date });
      await sample.page({ uri: first, body: bodyOf(2), date });
      await sample.page({ uri: second, body });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
    const others = await typesAfter(async (sample) => {
      const date = sample.nextDate();
      await sample.page({ uri: first, body, date });
      await sample.page({ uri: first, body: new Uint8Array(0), date: date.replace('Z', '.250Z') });
      await sample.page({ uri: second, body });
    });
    assert.deepEqual([...others.values()], ['response', 'response']);
  });

  test('a duplicate whose only original shares its record id with another content', async () => {
    const types = await typesAfter(async (sample) => {
      const recordId = sample.newId();
      await sample.page({ uri: first, body, recordId });
      await sample.page({ uri: third, body: bodyOf(2), recordId });
      await sample.page({ uri: second, body });
    });
    assert.deepEqual([...types.values()], ['response', 'response', 'response']);
  });

  test('a segmented record', async () => {
    const fields = [{ name: 'WARC-Segment-Number', value: '1' }];
    const types = await typesAfter(async (sample) => {
      await sample.page({ uri: first, body });
      await sample.page({ uri: second, body, fields });
    });
    assert.deepEqual([...types.values()], ['response', 'response']);
  });
});

test('a revisit refers to a chunked original exactly if the duplicate was chunked', async () => {
  await inDirectory(async (directory) => {
    const body = bodyOf(1);
    const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
    for (const name of ['plain', 'chunked', 'chunked-again', 'plain-again'])
      await sample.page({ uri: `http://a.example/${name}`, body, isChunked: name.startsWith('chunked') });
    await sample.finish();
    const earlier = await readAll(filesBelow(directory));
    await slimRun(runOptions(directory).options);
    const later = await readAll(filesBelow(directory));
    const leansOn = (name: string) => later.find(({ uri }) => uri === `http://a.example/${name}`)?.refersToUri;
    assert.deepEqual(['plain', 'chunked', 'chunked-again', 'plain-again'].map(leansOn), [
      '',
      '',
      'http://a.example/chunked',
      'http://a.example/plain',
    ]);
    assert.deepEqual(capturesOf(later), capturesOf(earlier));
  });
});

describe('the digest of a revisit, by which replay finds the original', () => {
  const uris = ['http://a.example/1', 'http://a.example/2'] as const;
  const body = bodyOf(1);

  /** The first record and the second record after the run, with the findings of the run. */
  async function slimmed(page: { isChunked?: boolean; withDigest?: boolean; digest?: string }) {
    let found: { original: ArchivedRecord; other: ArchivedRecord; codes: string[] } | undefined;
    await inDirectory(async (directory) => {
      const sample = await SampleWriter.create(join(directory, 'one.warc.gz'), 'gzip', 1);
      for (const uri of uris) await sample.page({ uri, body, ...page });
      await sample.finish();
      const { options, findings } = runOptions(directory);
      await slimRun(options);
      const later = await readAll(filesBelow(directory));
      const [original, other] = uris.map(
        (uri) => later.find((record) => record.uri === uri && record.type !== 'request')!,
      );
      found = { original: original!, other: other!, codes: findings.map(({ code }) => code) };
    });
    return found!;
  }

  const digestIn = ({ fields }: ArchivedRecord) => fields.find(({ name }) => name === 'WARC-Payload-Digest')?.value;

  test('is the one that the original declares', async () => {
    const { original, other } = await slimmed({});
    assert.equal(other.type, 'revisit');
    assert.equal(digestIn(other), digestIn(original));
  });

  test('is the one that indexers compute for an original that declares none: the SHA-1 of the stored body', async () => {
    const plain = await slimmed({ withDigest: false });
    assert.equal(plain.other.type, 'revisit');
    assert.equal(digestIn(plain.other), formatDigest(digestOf('sha1', body)));
    const inChunks = await slimmed({ withDigest: false, isChunked: true });
    assert.equal(inChunks.other.type, 'revisit');
    assert.equal(digestIn(inChunks.other), formatDigest(digestOf('sha1', chunked(body))));
  });

  test('does not exist for an original that declares a wrong one, so no revisit refers to it', async () => {
    for (const digest of [formatDigest(digestOf('sha1', bodyOf(2))), 'sha1:nonsense']) {
      const { other, codes } = await slimmed({ digest });
      assert.equal(other.type, 'response');
      assert.ok(codes.includes('slim-original-unusable'), digest);
    }
  });
});

test('a minimum saving keeps duplicates that save less', async () => {
  await inDirectory(async (directory) => {
    await writeSampleCollection(directory, 4);
    const summary = await slimRun(runOptions(directory, { minSavingBytes: 1_000_000 }).options);
    assert.ok(summary.duplicates > 20);
    assert.equal(summary.revisits, 0);
    assert.equal(summary.stayed.small, summary.duplicates);
    assert.equal(summary.filesRewritten, 0);
  });
});
