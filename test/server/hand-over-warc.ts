/**
 * A small uncompressed WARC file, in which every offset and length follows from its text. It has the kinds of records
 * for which index formats differ: a chunked response, revisits of both profiles, another host and port, a status other
 * than 200, a resource, and captures of one second.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const CRLF = '\r\n';

type Piece = { readonly fields: readonly string[]; readonly block: string };

function recordText({ fields, block }: Piece): string {
  const head = ['WARC/1.1', ...fields, `Content-Length: ${Buffer.byteLength(block)}`].join(CRLF);
  return `${head}${CRLF}${CRLF}${block}${CRLF}${CRLF}`;
}

let serial = 0;

function id(): string {
  return `<urn:uuid:00000000-0000-4000-8000-${String(++serial).padStart(12, '0')}>`;
}

function response(url: string, date: string, status: string, type: string, body: string, more: string[] = []): Piece {
  return {
    fields: [
      'WARC-Type: response',
      `WARC-Record-ID: ${id()}`,
      `WARC-Date: ${date}`,
      `WARC-Target-URI: ${url}`,
      'Content-Type: application/http;msgtype=response',
    ],
    block: [`HTTP/1.1 ${status}`, `Content-Type: ${type}`, ...more, '', body].join(CRLF),
  };
}

export const HELLO = '<p>hello</p>\n';
export const HELLO_SHA256: string = createHash('sha256').update(HELLO).digest('hex');

function revisit(url: string, date: string, profile: string, block: string): Piece {
  return {
    fields: [
      'WARC-Type: revisit',
      `WARC-Record-ID: ${id()}`,
      `WARC-Date: ${date}`,
      `WARC-Target-URI: ${url}`,
      `WARC-Profile: http://netpreserve.org/warc/1.1/revisit/${profile}`,
      'WARC-Refers-To-Target-URI: http://www.example.test/a',
      'WARC-Refers-To-Date: 2024-03-01T10:00:00.250Z',
      'WARC-Payload-Digest: sha1:SPY26MJKW5H7YED73KP4SKZ3QEA5BN4S',
      'Content-Type: application/http;msgtype=response',
    ],
    block,
  };
}

/** Writes the file and returns its path. */
export async function writeHandOver(directory: string): Promise<string> {
  serial = 0;
  const chunked = `d${CRLF}${HELLO}${CRLF}0${CRLF}${CRLF}`;
  const pieces: Piece[] = [
    response('http://www.example.test/a', '2024-03-01T10:00:00.250Z', '200 OK', 'text/html', chunked, [
      'Transfer-Encoding: chunked',
    ]),
    revisit(
      'http://cdn.example.test/copy?id=7',
      '2024-03-02T10:00:00Z',
      'identical-payload-digest',
      `HTTP/1.1 200 OK${CRLF}Content-Type: text/html${CRLF}${CRLF}`,
    ),
    revisit(
      'http://www.example.test/a',
      '2024-03-03T10:00:00Z',
      'server-not-modified',
      `HTTP/1.1 304 Not Modified${CRLF}ETag: "v1"${CRLF}${CRLF}`,
    ),
    response('https://example.test/a', '2024-03-05T00:00:00Z', '200 OK', 'text/html; charset=utf-8', '<p>again</p>'),
    response('https://example.test/a', '2024-03-05T00:00:00.500Z', '503 Busy', 'text/plain', 'later'),
    response('http://example.test/a/deep?b=2&a=1', '2024-04-01T12:00:00Z', '404 Not Found', 'text/plain', 'nothing'),
    response('http://example.test:8080/', '2024-04-02T12:00:00Z', '301 Moved', 'text/html', '', ['Location: /a']),
    {
      fields: [
        'WARC-Type: resource',
        `WARC-Record-ID: ${id()}`,
        'WARC-Date: 2024-05-01T00:00:00Z',
        'WARC-Target-URI: http://pictures.example.test/one two.png',
        'Content-Type: image/png',
      ],
      block: 'not really a picture',
    },
  ];
  const path = join(directory, 'hand-over.warc');
  await writeFile(path, pieces.map(recordText).join(''));
  return path;
}
