/**
 * Reads pages for a program that has others to answer meanwhile: what may take long is read on a thread of its own, with bounds on memory and time (I9). Ordinary pages are read at once: the
 * way to another thread would cost more.
 */
import { ThreadDied, ThreadPool } from '../base/index.ts';
import { type Page, type PageParts, type PageSource, pageKind, readPage } from './page.ts';
import { ReadingTurns } from './reading-turns.ts';

/** The worst that so many bytes of markup can do takes about a tenth of a second; hardly any page has more. */
const PROMPT_BYTES_MAX = 1024 * 1024;
/** The worst of the largest page takes some ten seconds. */
const READING_MS_MAX = 60_000;
const HEAP_MEBIBYTES_MAX = 1024;
const READINGS_MAX = 2;

const SCRIPT = new URL('./page-worker.ts', import.meta.url);
const turns = new ReadingTurns(READINGS_MAX);

/** The same as `readPage`. Of a page that is too much for the thread no more than the beginning is read. */
export async function readPageAside(
  source: PageSource,
  parts: PageParts = {},
  msMax: number = READING_MS_MAX,
): Promise<Page | undefined> {
  const kind = pageKind(source.mime, source.bytes);
  // PDF documents have threads of their own. A small office document can unpack to a large one.
  const isPrompt = kind === 'pdf' || (kind !== 'office' && source.bytes.length <= PROMPT_BYTES_MAX);
  if (isPrompt || kind === undefined) return readPage(source, parts);
  const read = await turns.take(() => readOnThread(source, parts, msMax));
  if (read !== TOO_MUCH) return read;
  const bytes = source.bytes.subarray(0, kind === 'office' ? 0 : PROMPT_BYTES_MAX);
  const page = await readPage({ ...source, bytes }, parts);
  return page && { ...page, isTruncated: true };
}

const TOO_MUCH = 'too much';

async function readOnThread(
  source: PageSource,
  parts: PageParts,
  msMax: number,
): Promise<Page | undefined | typeof TOO_MUCH> {
  const pool = new ThreadPool<Parameters<typeof readPage>, Page | undefined>(SCRIPT, {
    threads: 1,
    limits: { maxOldGenerationSizeMb: HEAP_MEBIBYTES_MAX },
  });
  let end: Promise<void> | undefined;
  const timer = setTimeout(() => {
    end = pool.close();
  }, msMax);
  // The thread takes the bytes for itself.
  const bytes = Uint8Array.from(source.bytes);
  try {
    return await pool.run([{ ...source, bytes }, parts], [bytes.buffer]);
  } catch (error) {
    if (end || error instanceof ThreadDied) return TOO_MUCH;
    throw error;
  } finally {
    clearTimeout(timer);
    await (end ?? pool.close());
  }
}
