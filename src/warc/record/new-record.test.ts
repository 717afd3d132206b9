import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../base/index.ts';
import { fieldsOf, headBytes, type NewRecord, recordParts, revisitProfileOf, warcFields } from './new-record.ts';

const RECORD: NewRecord = {
  type: 'response',
  recordId: '<urn:uuid:00000000-0000-4000-8000-000000000001>',
  date: '2024-03-01T10:00:00.250Z',
  targetUri: 'http://www.example.test/a',
};

test('the worked example is written byte for byte', () => {
  const block = Buffer.from(
    [
      'HTTP/1.1 200 OK',
      'Date: Fri, 01 Mar 2024 10:00:00 GMT',
      'Content-Type: text/html',
      'Last-Modified: Thu, 29 Feb 2024 09:00:00 GMT',
      'ETag: "v1"',
      'Transfer-Encoding: chunked',
      '',
      'd\r\n<p>hello</p>\n\r\n0\r\n\r\n',
    ].join('\r\n'),
  );
  const record: NewRecord = {
    ...RECORD,
    payloadDigest: digestOf('sha1', Buffer.from('<p>hello</p>\n')),
    blockDigest: digestOf('sha1', block),
    contentType: 'application/http;msgtype=response',
  };
  const expected = [
    'WARC/1.1',
    'WARC-Type: response',
    'WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>',
    'WARC-Date: 2024-03-01T10:00:00.250Z',
    'WARC-Target-URI: http://www.example.test/a',
    'WARC-Payload-Digest: sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
    'WARC-Block-Digest: sha1:I35SW6OABBTEB5GF5Z3LEOZTNU7Q7TC2',
    'Content-Type: application/http;msgtype=response',
    'Content-Length: 190',
    '',
    block.toString(),
  ].join('\r\n');
  assert.equal(Buffer.concat(recordParts(record, block)).toString(), `${expected}\r\n\r\n`);
});

test('both profiles of revisits are written with all their pointers', () => {
  for (const profile of ['identical-payload-digest', 'server-not-modified'] as const) {
    const fields = fieldsOf(
      {
        ...RECORD,
        type: 'revisit',
        revisit: {
          profile,
          refersTo: '<urn:uuid:2>',
          refersToTargetUri: 'http://a.test/',
          refersToDate: '2024-01-01T00:00:00Z',
          truncated: profile === 'identical-payload-digest',
        },
      },
      0,
    );
    const value = (name: string) => fields.find((field) => field.name === name)?.value;
    assert.equal(value('WARC-Profile'), `http://netpreserve.org/warc/1.1/revisit/${profile}`);
    assert.equal(value('WARC-Refers-To'), '<urn:uuid:2>');
    assert.equal(value('WARC-Refers-To-Target-URI'), 'http://a.test/');
    assert.equal(value('WARC-Refers-To-Date'), '2024-01-01T00:00:00Z');
    assert.equal(value('WARC-Truncated'), profile === 'identical-payload-digest' ? 'length' : undefined);
  }
});

test('profiles are recognised in every spelling in use', () => {
  for (const version of ['0.18', '1.0', '1.1']) {
    const uri = `http://netpreserve.org/warc/${version}/revisit/identical-payload-digest`;
    assert.equal(revisitProfileOf(uri), 'identical-payload-digest');
    assert.equal(revisitProfileOf(`<${uri}>`), 'identical-payload-digest');
  }
  assert.equal(revisitProfileOf('http://netpreserve.org/warc/1.1/server-not-modified'), 'server-not-modified');
  assert.equal(
    revisitProfileOf('http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest'),
    'identical-payload-digest',
  );
  assert.equal(revisitProfileOf('http://example.test/other'), undefined);
});

test('writing a record that the standard does not allow is a bug of the caller', () => {
  const refused: NewRecord[] = [
    { ...RECORD, targetUri: undefined },
    { ...RECORD, type: 'warcinfo' },
    { ...RECORD, type: 'revisit' },
    { ...RECORD, revisit: { profile: 'server-not-modified' } },
    { ...RECORD, type: 'metadata', payloadDigest: 'sha1:x' },
  ];
  for (const record of refused) assert.throws(() => fieldsOf(record, 0), /bug in Pinakes/, JSON.stringify(record));
});

test('a value with a line end in it is a bug of the caller, and other letters are written in UTF-8', () => {
  assert.throws(() => headBytes([{ name: 'A', value: 'b\r\nC: d' }]), /bug in Pinakes/);
  assert.equal(
    Buffer.from(headBytes([{ name: 'A', value: 'caf\u00e9' }], '1.0')).toString('utf8'),
    'WARC/1.0\r\nA: caf\u00e9\r\n\r\n',
  );
});

test('further fields keep their order, and line ends in a block of fields become blanks', () => {
  const fields = fieldsOf(
    {
      ...RECORD,
      fields: [
        { name: 'X-B', value: '1' },
        { name: 'X-A', value: '2' },
      ],
    },
    5,
  );
  assert.deepEqual(
    fields.slice(-3).map(({ name }) => name),
    ['X-B', 'X-A', 'Content-Length'],
  );
  assert.equal(Buffer.from(warcFields([{ name: 'a', value: 'b\r\nc' }])).toString(), 'a: b c\r\n');
});
