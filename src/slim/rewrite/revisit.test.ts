import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import { parseHttpHead, RecordDecoder } from '../../warc/index.ts';
import type { PlannedOriginal } from '../plan/plan-line.ts';
import { derivedId, revisitParts } from './revisit.ts';

const HTTP = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const ORIGINAL: PlannedOriginal = {
  uri: 'http://o.test/',
  date: '2020-01-01T00:00:00.5Z',
  recordId: '<urn:uuid:o>',
  digestText: 'sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
  codings: '',
};

function parsedHead(fields: string): NonNullable<ReturnType<RecordDecoder['decode']>>['head'] {
  const text = `WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:d>\r\nWARC-Date: 2021-01-01T00:00:00Z\r\n${fields}Content-Length: 0\r\n\r\n\r\n\r\n`;
  const record = new RecordDecoder().decode(utf8(text));
  assert.ok(record);
  return record.head;
}

function revisit(fields: string, offset = 5): string {
  const http = parseHttpHead(utf8(HTTP));
  const duplicate = { head: parsedHead(fields), http, payloadBytes: 5000, name: 'a.warc', offset };
  const parts = revisitParts(duplicate, ORIGINAL);
  return typeof parts === 'string' ? parts : Buffer.concat(parts).toString();
}

test("a revisit has the duplicate's fields and HTTP head, refers to the original, and names the record it replaces", () => {
  const text = revisit(
    'WARC-Target-URI: <http://d.test/>\r\nWARC-IP-Address: 192.0.2.7\r\nWARC-Protocol: h2\r\nWARC-Protocol: tls/1.3\r\nWARC-Payload-Digest: sha1:OLD\r\nContent-Type: application/http;msgtype=response\r\n',
  );
  assert.equal(
    text?.replace(/<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>/, '<new>'),
    [
      'WARC/1.1',
      'WARC-Type: revisit',
      'WARC-Record-ID: <new>',
      'WARC-Date: 2021-01-01T00:00:00Z',
      'WARC-Target-URI: http://d.test/',
      'WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
      'WARC-Refers-To: <urn:uuid:o>',
      'WARC-Refers-To-Target-URI: http://o.test/',
      'WARC-Refers-To-Date: 2020-01-01T00:00:00.5Z',
      'WARC-Payload-Digest: sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
      'WARC-Block-Digest: sha256:f2c9edbff2e1c98fea2bb2e96b8eb8d3c6f7bf2fe9b6c1e7a2b5d9b45d0ad4d6',
      'WARC-Truncated: length',
      'WARC-IP-Address: 192.0.2.7',
      'WARC-Protocol: h2',
      'WARC-Protocol: tls/1.3',
      'WARC-Previous-Record-ID: <urn:uuid:d>',
      'Content-Type: application/http;msgtype=response',
      `Content-Length: ${HTTP.length}`,
      '',
      `${HTTP}\r\n\r\n`,
    ]
      .join('\r\n')
      .replace(/sha256:\w+/, /sha256:\w+/.exec(text ?? '')![0]),
  );
});

test('the id of a revisit depends only on the two records and the place', () => {
  const id = (text: string | undefined) => /WARC-Record-ID: (\S+)/.exec(text ?? '')?.[1];
  const fields = 'WARC-Target-URI: http://d.test/\r\n';
  assert.equal(id(revisit(fields)), id(revisit(fields)));
  assert.notEqual(id(revisit(fields)), id(revisit(fields, 6)));
  assert.match(derivedId(['x']), /^<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>$/);
});

test('a duplicate whose head is not UTF-8 does not become a revisit', () => {
  const text = Buffer.concat([
    utf8('WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2021\r\nWARC-Target-URI: http://d.test/\r\nX: '),
    Buffer.from([0xff, 0xfe]),
    utf8('\r\nContent-Length: 0\r\n\r\n\r\n\r\n'),
  ]);
  const { head } = new RecordDecoder().decode(text)!;
  const duplicate = { head, http: parseHttpHead(utf8(HTTP)), payloadBytes: 5000, name: 'a', offset: 0 };
  assert.equal(revisitParts(duplicate, ORIGINAL), 'unrepeatable');
});

test('a duplicate stays if its payload is not larger than the fields that the revisit adds', () => {
  const fields = 'WARC-Target-URI: http://d.test/\r\n';
  const head = parsedHead(fields);
  const http = parseHttpHead(utf8(HTTP));
  const headBytes = revisit(fields)!.indexOf('\r\n\r\n') - 'WARC/1.1\r\n'.length + 2;
  const added = headBytes - (head.bytes.length - 'WARC/1.0\r\n\r\n'.length);
  const made = (payloadBytes: number) => revisitParts({ head, http, payloadBytes, name: 'a', offset: 0 }, ORIGINAL);
  assert.equal(made(added), 'small');
  assert.equal(typeof made(added + 1), 'object');
  assert.equal(made(0), 'small');
});

test('a head that contains U+FFFD itself can be repeated', () => {
  assert.match(
    revisit('WARC-Target-URI: http://d.test/\ufffd\r\n') ?? '',
    /^WARC-Target-URI: http:\/\/d\.test\/\ufffd\r$/m,
  );
});

test('a duplicate with an odd head stays, because its date or URI may not be repeated', () => {
  const target = 'WARC-Target-URI: http://d.test/';
  assert.match(revisit(`${target}\r\n`), /^WARC\//);
  for (const odd of [
    `${target}\x01\r\n`,
    `${target}\r\nWARC-Date: 2021-01-02T00:00:00Z\r\n`,
    `${target}\r\nno colon\r\n`,
  ])
    assert.equal(revisit(odd), 'unrepeatable', odd);
});
