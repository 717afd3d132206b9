/**
 * Lines that clients of OutbackCDX post. There they make the index; here the records themselves do, and an index entry
 * whose record is not held would be a capture that points nowhere. So a line is checked instead: it is taken when the
 * archive has the capture that it tells of, and refused, with its number and what to do, when it has not. Indexing
 * scripts that post the lines of files which were added (or linked with `add --in-place`) so go on working.
 */
import { basename } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import { parseTimestamp, parseTimestampEnd } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import { type CdxEntry, readCdx } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';

export type PostOptions = { readonly collection: string | undefined; readonly skipsBadLines: boolean };

/**
 * What OutbackCDX says when it has taken lines. Rejects at the first line that is refused, unless those are to be
 * skipped.
 */
export async function takeCdxLines(
  archive: Archive,
  chunks: AsyncIterable<Uint8Array>,
  options: PostOptions,
): Promise<string> {
  let first: string | undefined;
  let bad = 0;
  const refuse = (problem: string, where: string) => {
    if (!options.skipsBadLines) throw refusal(problem, where);
    first ??= problem;
    bad++;
  };
  const entries = readCdx(chunks, {
    file: 'request',
    onFinding: ({ level, message, offset }) => {
      if (level === 'error') refuse(message, `byte ${offset}`);
    },
  });
  let taken = 0;
  for await (const entry of entries) {
    const problem = await problemOfEntry(archive, entry, options.collection);
    if (problem === undefined) taken++;
    else refuse(problem, `${entry.timestamp} ${entry.url ?? ''}`);
  }
  const skipped = bad === 0 ? '' : `Skipped ${bad} lines; of the first: ${first}\n`;
  return `Added ${taken} records\n${skipped}`;
}

function refusal(problem: string, where: string): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'LINE_REFUSED',
    message: problem,
    advice:
      'The index of this archive is made from its records. Bring the file in with `pinakes add` or `pinakes add --in-place`, or upload it to /api/uploads; add ?badLines=skip to pass over such lines.',
    where,
  });
}

/** Undefined when the archive has the capture. */
async function problemOfEntry(
  archive: Archive,
  entry: CdxEntry,
  collection: string | undefined,
): Promise<string | undefined> {
  const { url, timestamp } = entry;
  if (url === undefined) return `the line of ${timestamp} has no URL`;
  const [from, to] = [parseTimestamp(timestamp), parseTimestampEnd(timestamp)];
  if (from === undefined || to === undefined) return `${timestamp} is no time`;
  const number = collection === undefined ? undefined : archive.collections.find(collection);
  for await (const capture of archive.capturesOfUrl(url, { from, to })) {
    if (number !== undefined && capture.collection !== number) continue;
    if (capture.urlKey === urlKey(url)) return undefined;
  }
  const file = entry.filename === undefined ? '' : `, which the line finds in ${basename(entry.filename)}`;
  return `the archive has no capture of ${url} at ${timestamp}${file}`;
}
