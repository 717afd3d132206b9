/** Range requests (RFC 9110, 14): one range of bytes. Several at once get the whole, as the standard allows. */

export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly from: number; readonly to: number }
  | { readonly kind: 'unsatisfiable' };

/** What a Range field asks for of `size` bytes; `to` is behind the last byte. */
export function rangeOf(field: string | undefined, size: number): RangeAnswer {
  const match = field === undefined ? null : /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(field);
  if (!match || (match[1] === '' && match[2] === '')) return { kind: 'whole' };
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', from: size - length, to: size };
  }
  const from = Number(match[1]);
  const last = match[2] === '' ? Number.POSITIVE_INFINITY : Number(match[2]);
  if (last < from) return { kind: 'whole' };
  if (from >= size) return { kind: 'unsatisfiable' };
  return { kind: 'part', from, to: Math.min(size, last + 1) };
}
