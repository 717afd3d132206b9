/** The answer of a server to a request for a range of a file, and the errors of such requests. */
import type { Readable } from 'node:stream';
import { type ErrorCode, PinakesError } from '../../base/index.ts';
import { failureOf } from '../s3/s3-error.ts';

/** The state of a file, as its server describes it. */
export type RemoteVersion = {
  readonly bytes: number;
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
};

export type RemoteAnswer = { readonly version: RemoteVersion; readonly body: Readable };

const PASSED: ReadonlySet<string> = new Set([
  'ARCHIVE_CLOSED',
  'FILE_MISSING',
  'FILE_UNREACHABLE',
  'FILE_UNREADABLE',
  'NOT_LINKABLE',
  'OBJECT_CHANGED',
]);
const TEXT_MAX = 200;

/** An HTTP answer that has not the wanted bytes. `failureOf` classifies it by its status. */
export class StatusError extends Error {
  readonly $metadata: { readonly httpStatusCode: number };

  constructor(status: number) {
    super(`the server answered with the status ${status}`);
    this.name = '';
    this.$metadata = { httpStatusCode: status };
  }
}

export function statusOf(error: unknown): number | undefined {
  return failureOf(error instanceof PinakesError ? error.cause : error).status;
}

/** The version that a Content-Range describes. Fails when the answer is not exactly the wanted range. */
export function versionOf(
  url: string,
  from: number,
  to: number,
  contentRange: string | undefined,
  validators: Omit<RemoteVersion, 'bytes'>,
): RemoteVersion {
  const match = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(contentRange ?? '');
  if (!match) throw withoutRanges(url, 'the server does not send ranges of it, or not its length');
  const [, first, last, bytes] = match.map(Number) as [number, number, number, number];
  if (first !== from || last !== Math.min(to, bytes) - 1)
    throw withoutRanges(url, 'the server sends another range than the one that was asked for');
  const { etag, lastModified } = validators;
  const isShort = (text: string | undefined): text is string => text !== undefined && text.length <= TEXT_MAX;
  return { bytes, ...(isShort(etag) && { etag }), ...(isShort(lastModified) && { lastModified }) };
}

export function withoutRanges(url: string, detail: string): PinakesError {
  return new PinakesError('NOT_LINKABLE', { where: url, detail });
}

export function changedFile(url: string, detail: string): PinakesError {
  return new PinakesError('OBJECT_CHANGED', { where: url, detail });
}

/** The error of a file. It does not say anything about other files, so no code of a missing volume is used. */
export function remoteError(thrown: unknown, url: string): PinakesError {
  if (thrown instanceof PinakesError && PASSED.has(thrown.code)) return thrown;
  const cause = thrown instanceof PinakesError && thrown.cause !== undefined ? thrown.cause : thrown;
  const { kind, code, detail } = failureOf(cause);
  return new PinakesError(codeOf(kind, code), { where: url, detail, cause });
}

function codeOf(kind: 'transient' | 'unreachable' | 'final', code: ErrorCode): ErrorCode {
  if (code === 'OBJECT_MISSING' || code === 'BUCKET_MISSING') return 'FILE_MISSING';
  return kind === 'final' && code !== 'VOLUME_MISSING' ? 'FILE_UNREADABLE' : 'FILE_UNREACHABLE';
}
