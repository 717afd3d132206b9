/**
 * Which bytes a request asks for (RFC 9110, section 14): all, one range, or a range that does not exist. A request for
 * several ranges, or for a malformed range, gets everything, as the standard allows.
 */
export type ByteRange =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly from: number; readonly to: number }
  | { readonly kind: 'outside' };

/** `to` is exclusive. */
export function byteRange(field: string | undefined, bytes: number): ByteRange {
  const match = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(field ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return { kind: 'whole' };
  if (match[1] === '') {
    const wanted = Math.min(Number(match[2]), bytes);
    return wanted === 0 ? { kind: 'outside' } : { kind: 'part', from: bytes - wanted, to: bytes };
  }
  const from = Number(match[1]);
  const last = match[2] === '' ? Number.POSITIVE_INFINITY : Number(match[2]);
  if (last < from) return { kind: 'whole' };
  if (from >= bytes) return { kind: 'outside' };
  return { kind: 'part', from, to: Math.min(last + 1, bytes) };
}
