/**
 * Text, links, title and dates of a PDF document. A document that cannot be read has an empty text.
 *
 * A document is a program: a kilobyte of it can draw the same picture a trillion times over, or unpack to more than there is memory. So it is read on a thread of its own (I9), with bounds on
 * memory and time; who runs into them is ended, and what was told of the pages before counts.
 */
import { ThreadPool } from '../base/index.ts';
import type { LinkCollector } from './link.ts';
import type { MetaReader } from './meta-reader.ts';
import { parsePageDate } from './page-date.ts';
import type { PdfJob, PdfPart } from './pdf-document.ts';
import { ReadingTurns } from './reading-turns.ts';
import type { TextBuilder } from './text-builder.ts';

/** Beyond this only the bytes are kept: the reader needs several times the document in memory. */
const PDF_BYTES_MAX = 64 * 1024 * 1024;
/** Ordinary documents take a hundredth of a second a page. */
const READING_MS_MAX = 60_000;
const HEAP_MEBIBYTES_MAX = 1024;
/** Unpacked bytes lie outside of the heap, and nothing but the growth of the whole program tells of them. */
const GROWTH_BYTES_MAX = 1.5 * 1024 ** 3;
const WATCH_MS = 250;
const READINGS_MAX = 2;
const DESCRIPTION_LENGTH_MAX = 4000;

type PdfTarget = {
  readonly links: LinkCollector | undefined;
  readonly text: TextBuilder | undefined;
  readonly meta: MetaReader;
};

const turns = new ReadingTurns(READINGS_MAX);

/** Whether the whole document could be read. */
export async function readPdf(bytes: Uint8Array, target: PdfTarget, msMax: number = READING_MS_MAX): Promise<boolean> {
  if (bytes.length > PDF_BYTES_MAX) return false;
  return turns.take(() => readOnThread(bytes, target, msMax)).catch(() => false);
}

async function readOnThread(bytes: Uint8Array, target: PdfTarget, msMax: number): Promise<boolean> {
  const limits = { maxOldGenerationSizeMb: HEAP_MEBIBYTES_MAX };
  const pool = new ThreadPool<PdfJob, boolean, PdfPart>(new URL('./pdf-worker.ts', import.meta.url), {
    threads: 1,
    limits,
  });
  let end: Promise<void> | undefined;
  const giveUp = () => {
    end ??= pool.close();
  };
  const timer = setTimeout(giveUp, msMax);
  const before = process.memoryUsage.rss();
  const watch = setInterval(() => {
    if (process.memoryUsage.rss() - before > GROWTH_BYTES_MAX) giveUp();
  }, WATCH_MS);
  // The thread takes the bytes for itself.
  const own = Uint8Array.from(bytes);
  const job = { bytes: own, wantsText: target.text !== undefined, wantsLinks: target.links !== undefined };
  try {
    return await pool.run(job, [own.buffer], (part) => takePart(part, target));
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    await (end ?? pool.close());
  }
}

function takePart(part: PdfPart, { meta, text, links }: PdfTarget): void {
  if ('info' in part) {
    const value = (name: string) => part.info[name] ?? '';
    meta.declareTitle(value('Title'));
    meta.description ||= value('Subject').slice(0, DESCRIPTION_LENGTH_MAX);
    meta.declareLanguage(value('Language'));
    meta.publishedAt ??= parsePageDate(value('CreationDate'));
    meta.modifiedAt ??= parsePageDate(value('ModDate'));
    return;
  }
  for (const line of part.lines) {
    text?.add(line);
    text?.break();
  }
  for (const url of part.urls) links?.add(url, 'anchor', false);
}
