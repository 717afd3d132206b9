/** Times and selections in requests. */
import { type Archive, captureId, parseContentKey, type Selection } from '../archive/index.ts';
import { type EpochMs, PinakesError, parseAskedTime } from '../base/index.ts';
import { badRequest } from './http/problem.ts';
import type { DeletionInput, SelectionInput } from './schema.ts';

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

/** What a request asks to delete. A key alone means one reference of the content. */
export async function deletionOf(archive: Archive, { all, capture: id, ...input }: DeletionInput): Promise<Selection> {
  const { key, ...others } = input;
  if (all && key === undefined)
    throw badRequest('`all` needs a key', 'Name the content whose captures to delete.', 'selection/all');
  const given = await selectionOf(archive, input);
  if (id !== undefined) {
    const capture = await archive.captureById(id);
    // An id of a deleted capture also finds the same capture in another collection.
    if (!capture || captureId(capture) !== id) throw new PinakesError('CONTENT_MISSING', { where: `capture ${id}` });
    return { ...given, capture };
  }
  const isOne = key !== undefined && !all && Object.keys(others).length === 0;
  return isOne ? { ...given, capture: await archive.referenceOf(key) } : given;
}

async function collectionNumber(archive: Archive, name: string): Promise<number> {
  const number = await archive.collections.find(name);
  if (number !== undefined) return number;
  throw new PinakesError('CONTENT_MISSING', { where: `collection ${name}`, detail: 'there is no such collection' });
}
