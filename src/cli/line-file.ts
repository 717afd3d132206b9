/** Writes files of lines, such as indexes and tables, complete or not at all. */
import { open, rename, unlink } from 'node:fs/promises';
import { fileError, refuseExisting } from '../base/index.ts';

const LINES_AT_ONCE = 4096;

/** Returns the number of lines. */
export async function writeLines(
  path: string,
  lines: Iterable<string> | AsyncIterable<string>,
  { force, lineEnd = '\n' }: { readonly force: boolean; readonly lineEnd?: string },
): Promise<number> {
  const temporary = `${path}.tmp`;
  await refuseExisting(path, force);
  try {
    const count = await writeAll(temporary, lines, lineEnd);
    await rename(temporary, path);
    return count;
  } catch (cause) {
    await unlink(temporary).catch(() => {});
    throw fileError(cause, path, 'writing');
  }
}

async function writeAll(
  path: string,
  lines: Iterable<string> | AsyncIterable<string>,
  lineEnd: string,
): Promise<number> {
  await using handle = await open(path, 'w');
  let count = 0;
  let batch: string[] = [];
  for await (const line of lines) {
    count++;
    batch.push(line + lineEnd);
    if (batch.length < LINES_AT_ONCE) continue;
    await handle.appendFile(batch.join(''));
    batch = [];
  }
  await handle.appendFile(batch.join(''));
  await handle.sync();
  return count;
}
