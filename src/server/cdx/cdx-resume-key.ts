/**
 * The position where a CDX reply stopped, as a short text that the client sends back: `urlkey timestamp!`,
 * percent-encoded, as by the Internet Archive. Several captures can have the same second, and would be lost between two
 * replies. So `milliseconds segment offset` follow.
 */
import { formatTimestamp, parseTimestamp } from '../../base/index.ts';
import { type CapturePosition, LAST_PLACE } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { badRequest } from '../http/problem.ts';

export function formatResumeKey({ urlKey, time, place }: CapturePosition): string {
  const millisecond = ((time % 1000) + 1000) % 1000;
  const text = `${urlKey} ${formatTimestamp(time)}! ${millisecond} ${place.segment} ${place.offset}`;
  return encodeURIComponent(text)
    .replaceAll('%20', '+')
    .replaceAll('!', '%21')
    .replaceAll('(', '%28')
    .replaceAll(')', '%29');
}

const FORM = /^(\S+) (\d{14})!?(?: (\d{1,3}) (\d{1,15}) (\d{1,15}))?$/;

/** Parses a key as it was sent, or encoded once more by the client. */
export function parseResumeKey(text: string | null): CapturePosition | undefined {
  if (!text) return undefined;
  const decoded = text.includes(' ') ? text : decode(text.replaceAll('+', ' '));
  const match = decoded === undefined ? null : FORM.exec(decoded);
  const time = match && parseTimestamp(match[2]!);
  if (!match || time === undefined || time === null)
    throw badRequest('the resume key is not valid', 'Send the key of the earlier reply unchanged.', text);
  const isExact = match[3] !== undefined;
  return {
    urlKey: match[1]! as UrlKey,
    time: time + (isExact ? Number(match[3]) : 999),
    place: isExact ? { segment: Number(match[4]), offset: Number(match[5]) } : LAST_PLACE,
  };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
