/** Times and selections in requests. */
import { type Archive, parseContentKey, type Selection } from '../archive/index.ts';
import { type EpochMs, PinakesError, parseAskedTime } from '../base/index.ts';
import { badRequest } from './http/problem.ts';
import type { SelectionInput } from './schema.ts';

/** A time of 4 to 17 digits, with or without separators between year, month and day, or a W3C date. */
export function parseTimeInput(text: string, side: 'start' | 'end'): EpochMs {
  const time = parseAskedTime(text, side);
  if (time !== undefined) return time;
  throw badRequest(
    'the time is not valid',
    'Write a time as 2024, 20240301120000 or 2024-03-01T12:00:00Z.',
    text.slice(0, 100),
  );
}

/** The selection of a request. Throws when the collection does not exist. */
export async function selectionOf(
  archive: Archive,
  input: SelectionInput & { readonly query?: string },
): Promise<Selection> {
  const { collection, url, prefix, key, from, to, mime, status } = input;
  // A single status is not part of the query: cursors of older streams depend on that.
  const single = /^\d{1,3}$/.test(`${status}`) ? Number(status) : undefined;
  const several = single === undefined ? status?.toString() : undefined;
  const query = await archive.askedQuery({ mime, status: several, query: input.query });
  return {
    ...(collection !== undefined && { collection: await collectionNumber(archive, collection) }),
    ...(url !== undefined && { url }),
    ...(prefix !== undefined && { prefix }),
    ...(key !== undefined && { block: parseContentKey(key) }),
    ...(from !== undefined && { from: parseTimeInput(from, 'start') }),
    ...(to !== undefined && { to: parseTimeInput(to, 'end') }),
    ...(single !== undefined && { status: single }),
    ...(query !== undefined && { query }),
  };
}

async function collectionNumber(archive: Archive, name: string): Promise<number> {
  const number = await archive.collections.find(name);
  if (number !== undefined) return number;
  throw new PinakesError('CONTENT_MISSING', { where: `collection ${name}`, detail: 'there is no such collection' });
}
