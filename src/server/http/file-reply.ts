/**
 * The reply to a request for a file: the whole file, one range, or 304 because the client has it (RFC 9110, sections 13
 * and 14).
 */
import type { IncomingMessage } from 'node:http';
import { byteRange } from '../../warc/index.ts';
import { rangeOutside } from './problem.ts';

export type FileFacts = {
  readonly mime: string;
  readonly bytes: number;
  /** Changes whenever the bytes change. */
  readonly tag: string;
};

export type FileReply = {
  readonly status: 200 | 206 | 304;
  readonly fields: Readonly<Record<string, string | number>>;
  /** The bytes to send: from this offset up to `to`. */
  readonly from: number;
  readonly to: number;
};

export function fileReply({ method, headers }: IncomingMessage, { mime, bytes, tag }: FileFacts): FileReply {
  const etag = `"${tag}"`;
  const common = {
    'accept-ranges': 'bytes',
    'cache-control': 'no-cache',
    'content-security-policy': "sandbox; default-src 'none'",
    etag,
  };
  if (hasTag(headers['if-none-match'], etag)) return { status: 304, fields: common, from: 0, to: 0 };
  const condition = headers['if-range'];
  const mayBePart = method === 'GET' && (condition === undefined || condition === etag);
  const range = byteRange(mayBePart ? headers.range : undefined, bytes);
  if (range.kind === 'outside') throw rangeOutside(bytes);
  const [from, to] = range.kind === 'part' ? [range.from, range.to] : [0, bytes];
  const fields = {
    ...common,
    'content-length': to - from,
    'content-type': mime,
    ...(range.kind === 'part' && { 'content-range': `bytes ${from}-${to - 1}/${bytes}` }),
  };
  return { status: range.kind === 'part' ? 206 : 200, fields, from, to };
}

/** Whether an If-None-Match field has a tag, in its strong form or in the weak form that some proxies make of it. */
export function hasTag(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false;
  return field.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag);
}
