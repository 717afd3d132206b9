/**
 * Lines that clients of OutbackCDX post. OutbackCDX adds them to its index. Here the index is made from the records,
 * and an entry without a record would be a capture that points nowhere. So a line is only checked: it is accepted when
 * the archive has its capture, and otherwise refused with advice. Scripts that post the lines of added files (or files
 * linked with `add --in-place`) continue to work.
 */
import { basename } from 'node:path';
import type { Archive } from '../../archive/index.ts';
import { parseTimestamp, parseTimestampEnd } from '../../base/index.ts';
import { urlKey } from '../../url/index.ts';
import { type CdxEntry, readCdx } from '../../warc/index.ts';
import { HttpProblem } from '../http/problem.ts';

export type PostOptions = { readonly collection: string | undefined; readonly skipsBadLines: boolean };

/** Returns the reply of OutbackCDX. Rejects at the first refused line, unless bad lines are skipped. */
export async function acceptCdxLines(
  archive: Archive,
  chunks: AsyncIterable<Uint8Array>,
  options: PostOptions,
): Promise<string> {
  let first: string | undefined;
  let bad = 0;
  const refuse = (problem: string, where: string) => {
    if (!options.skipsBadLines) throw lineRefused(problem, where);
    first ??= problem;
    bad++;
  };
  const entries = readCdx(chunks, {
    file: 'request',
    onFinding: ({ level, message, offset }) => {
      if (level === 'error') refuse(message, `byte ${offset}`);
    },
  });
  let accepted = 0;
  for await (const entry of entries) {
    const problem = await problemOfEntry(archive, entry, options.collection);
    if (problem === undefined) accepted++;
    else refuse(problem, `${entry.timestamp} ${entry.url ?? ''}`);
  }
  const skipped = bad === 0 ? '' : `Skipped ${bad} lines; of the first: ${first}\n`;
  return `Added ${accepted} records\n${skipped}`;
}

function lineRefused(problem: string, where: string): HttpProblem {
  return new HttpProblem({
    status: 409,
    code: 'LINE_REFUSED',
    message: problem,
    advice:
      'The index of this archive is made from its records. Add the file with `pinakes add` or `pinakes add --in-place`, or upload it to /api/uploads. Use ?badLines=skip to skip such lines.',
    where,
  });
}

/** Returns undefined when the archive has the capture. */
async function problemOfEntry(
  archive: Archive,
  entry: CdxEntry,
  collection: string | undefined,
): Promise<string | undefined> {
  const { url, timestamp } = entry;
  if (url === undefined) return `the line of ${timestamp} has no URL`;
  const [from, to] = [parseTimestamp(timestamp), parseTimestampEnd(timestamp)];
  if (from === undefined || to === undefined) return `${timestamp} is not a valid time`;
  const number = collection === undefined ? undefined : await archive.collections.find(collection);
  for await (const capture of archive.capturesOfUrl(url, { from, to })) {
    if (number !== undefined && capture.collection !== number) continue;
    if (capture.urlKey === urlKey(url)) return undefined;
  }
  const file = entry.filename === undefined ? '' : `, which according to the line is in ${basename(entry.filename)}`;
  return `the archive has no capture of ${url} at ${timestamp}${file}`;
}
