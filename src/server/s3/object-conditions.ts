/** The conditions of requests: on the object that is read (RFC 9110, section 13), and on the one that is replaced. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Condition, ObjectInfo } from '../objects/object-store.ts';
import { noSuchKey, notImplemented, preconditionFailed } from '../objects/s3-error.ts';

/** Whether a read is answered with the object, with 304, or refused with 412. */
export function readCondition(headers: IncomingHttpHeaders, info: ObjectInfo, prefix = ''): 'go' | 'unchanged' {
  const field = (name: string) => headers[prefix + name] as string | undefined;
  const seconds = Math.floor(info.mtimeMs / 1000);
  const match = field('if-match');
  if (match !== undefined) {
    if (!hasTag(match, info)) throw preconditionFailed();
  } else {
    const since = secondsOf(field('if-unmodified-since'));
    if (since !== undefined && seconds > since) throw preconditionFailed();
  }
  const none = field('if-none-match');
  if (none !== undefined) return hasTag(none, info) ? 'unchanged' : 'go';
  const since = secondsOf(field('if-modified-since'));
  return since !== undefined && seconds <= since ? 'unchanged' : 'go';
}

/** Whether a range may be answered, by `If-Range`. */
export function mayAnswerRange({ 'if-range': condition }: IncomingHttpHeaders, info: ObjectInfo): boolean {
  if (condition === undefined) return true;
  const text = String(condition);
  return text.includes('"') ? hasTag(text, info) : secondsOf(text) === Math.floor(info.mtimeMs / 1000);
}

/** The condition on the present object under which a request replaces or removes it. */
export function writeCondition(headers: IncomingHttpHeaders): Condition {
  const { 'if-none-match': none, 'if-match': match } = headers;
  // Other forms would have to be ignored, and the client would take its condition for checked.
  if (none !== undefined && none.trim() !== '*') throw notImplemented('If-None-Match with a tag for changes');
  return (present) => {
    if (none !== undefined && present) throw preconditionFailed();
    if (match === undefined) return;
    if (!present) throw noSuchKey();
    if (!hasTag(match, present)) throw preconditionFailed();
  };
}

export function quoted(etag: string): string {
  return `"${etag}"`;
}

/** The tag of a field or a document, with quotes or without. */
export function unquoted(etag: string): string {
  return etag.trim().replace(/^"(.*)"$/, '$1');
}

function hasTag(field: string, { etag }: ObjectInfo): boolean {
  return field.split(',').some((one) => one.trim() === '*' || unquoted(one.trim().replace(/^W\//, '')) === etag);
}

function secondsOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}
