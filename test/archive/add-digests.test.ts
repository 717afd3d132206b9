/** What `add` reports about records whose declared digest is wrong. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Finding, utf8 } from '../../src/base/index.ts';
import { type ForeignRecord, members, response, sha1Of, warcinfo, writeForeign } from './foreign-file.ts';
import { contentOf, makeArchive, NOON, temporaryDirectory } from './trial-archive.ts';

test('a record whose declared SHA-256 does not match its bytes is reported by add, and is still added', async (t) => {
  const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const declares = (name: string, fields: string[], sentBody: Uint8Array, payloadDigest: string): ForeignRecord => {
    const { record } = response(`http://${name}.example/`, NOON, sentBody);
    const head = utf8(['HTTP/1.1 200 OK', ...fields, '', ''].join('\r\n'));
    return { record: { ...record, payloadDigest }, block: Buffer.concat([head, sentBody]) };
  };
  const body = contentOf('a page');
  const packed = gzipSync(body);
  const chunked = Buffer.concat([utf8(`${body.length.toString(16)}\r\n`), body, utf8('\r\n0\r\n\r\n')]);
  const other = sha256(utf8('other bytes'));
  const note: ForeignRecord = {
    record: { ...warcinfo().record, type: 'resource', targetUri: 'http://note.example/', blockDigest: other },
    block: utf8('a note'),
  };
  const records = [
    declares('right', [], body, sha256(body)),
    declares('wrong', [], body, other),
    declares('chunked-as-sent', ['Transfer-Encoding: chunked'], chunked, sha256(chunked)),
    declares('chunked-wrong', ['Transfer-Encoding: chunked'], chunked, other),
    declares('decoded', ['Content-Encoding: gzip'], packed, sha256(body)),
    declares('unchecked-sha1', [], body, sha1Of(utf8('these bytes were not hashed'))),
    note,
  ];
  for (const { inPlace, workers } of [
    { inPlace: false, workers: 0 },
    { inPlace: false, workers: 2 },
    { inPlace: true, workers: 0 },
  ]) {
    const archive = await makeArchive(t);
    const file = await writeForeign(join(await temporaryDirectory(t), 'a.warc.gz'), records);
    const findings: Finding[] = [];
    const onFinding = (finding: Finding) => void findings.push(finding);
    const report = await archive.add([file], { inPlace, workers, onFinding });
    assert.deepEqual([report.captures, report.failures], [7, []]);
    const at: Record<number, string> = {};
    let offset = 0;
    for (const [index, member] of members(records).members.entries()) {
      at[offset] = records[index]!.record.targetUri!;
      offset += member.length;
    }
    assert.deepEqual(
      findings.map((finding) => [finding.code, at[finding.offset]]),
      [
        ['payload-digest-mismatch', 'http://wrong.example/'],
        ['payload-digest-mismatch', 'http://chunked-wrong.example/'],
        ['block-digest-mismatch', 'http://note.example/'],
      ],
    );
  }
});
