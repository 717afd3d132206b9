/**
 * Reads pages with bounds on memory and time (I9). PDF and office documents are programs of sorts: some kilobytes of
 * them can draw for ever or unpack to gigabytes. They are read in a process of its own, one at a time in this program,
 * and a document that goes beyond a bound ends the process and nothing else. Ordinary pages are read on the caller's
 * thread: the way to another process would cost more.
 *
 * The process belongs to the main thread. Other threads hand their documents to it, so that there is one process
 * however many threads read pages.
 */
import { once } from 'node:events';
import { deserialize } from 'node:v8';
import { isMainThread, MessageChannel, type MessagePort, postMessageToThread } from 'node:worker_threads';
import { type JobBounds, JobEnded, JobProcess } from '../base/index.ts';
import { decodedStart } from '../warc/index.ts';
import {
  DOCUMENT_BYTES_MAX,
  PAGE_BYTES_MAX,
  type Page,
  type PageParts,
  type PageSource,
  pageKind,
  readPageHere,
  withLanguage,
} from './page.ts';
import type { PageJob } from './page-worker.ts';

/** The worst that so many bytes of markup can do takes about a tenth of a second; hardly any page has more. */
const SYNC_BYTES_MAX = 1024 * 1024;
/**
 * An ordinary PDF document takes a hundredth of a second a page; the worst of the largest HTML page some ten seconds.
 */
const READING_MS_MAX = 60_000;
/** Ordinary documents take 150 to 250 MB, most of it the programs that read them. */
const DOCUMENT_MEMORY_DEFAULT = 512_000_000;

export type ReadingBounds = {
  /** Memory of the process, all of it counted. */
  readonly memoryBytesMax?: number | undefined;
  readonly msMax?: number | undefined;
};

/** Bytes that may still have content codings. */
export type CodedSource = PageSource & { readonly codings?: readonly string[] };

/**
 * Reads a page: documents of which a small one can take long in their process, all others here. Undefined when it is
 * not a page.
 */
export async function readPage(
  source: PageSource,
  parts: PageParts = {},
  bounds: ReadingBounds = {},
): Promise<Page | undefined> {
  const kind = pageKind(source.mime, source.bytes);
  if (kind === 'pdf' || kind === 'office') return readDocument({ ...source, codings: [] }, parts, bounds);
  return kind && readPageHere(source, parts);
}

/**
 * The same for a program that has other things to answer meanwhile, or little memory: large pages of all kinds are read
 * in the process.
 */
export async function readPageAside(
  { codings = [], ...source }: CodedSource,
  parts: PageParts = {},
  bounds: ReadingBounds = {},
): Promise<Page | undefined> {
  // One byte beyond the bound says that there is more.
  const bytes = codings.length === 0 ? source.bytes : decodedStart(source.bytes, codings, SYNC_BYTES_MAX + 1);
  const kind = pageKind(source.mime, bytes);
  if (kind === 'pdf' || kind === 'office') return readDocument({ ...source, codings }, parts, bounds);
  if (kind === undefined || bytes.length <= SYNC_BYTES_MAX) return kind && readPageHere({ ...source, bytes }, parts);
  const read = await readInProcess({ ...source, codings, bytesMax: PAGE_BYTES_MAX + 1 }, parts, bounds);
  if (read !== TOO_COSTLY) return read;
  // Of markup and text the beginning is worth having.
  const page = await readPageHere({ ...source, bytes: bytes.subarray(0, SYNC_BYTES_MAX) }, parts);
  return page && { ...page, isTruncated: true };
}

type Source = PageSource & Pick<PageJob, 'codings' | 'bytesMax'>;

async function readDocument(
  document: Omit<Source, 'bytesMax'>,
  parts: PageParts,
  bounds: ReadingBounds,
): Promise<Page | undefined> {
  if (document.bytes.length > DOCUMENT_BYTES_MAX) return EMPTY_PAGE;
  const read = await readInProcess({ ...document, bytesMax: DOCUMENT_BYTES_MAX + 1 }, parts, bounds);
  return read === TOO_COSTLY ? { ...EMPTY_PAGE, isTooCostly: true } : read;
}

/** A document of which nothing was read. */
const EMPTY_PAGE: Page = {
  title: '',
  description: '',
  language: '',
  charset: '',
  headings: [],
  text: '',
  mainText: '',
  links: [],
  robots: { nofollow: false, noindex: false },
  isTruncated: true,
};

const TOO_COSTLY = 'too costly';

async function readInProcess(
  { bytes, codings, bytesMax, ...source }: Source,
  parts: PageParts,
  bounds: ReadingBounds,
): Promise<Page | undefined | typeof TOO_COSTLY> {
  const { memoryBytesMax = DOCUMENT_MEMORY_DEFAULT, msMax = READING_MS_MAX } = bounds;
  const reading: Reading = { job: { source, codings, bytesMax, parts }, bytes, bounds: { memoryBytesMax, msMax } };
  const page = isMainThread ? await runHere(reading) : await runOnMainThread(reading);
  return page === TOO_COSTLY ? page : withLanguage(deserialize(page) as Page | undefined);
}

/** A page to be read in the process. */
type Reading = { readonly job: PageJob; readonly bytes: Uint8Array; readonly bounds: JobBounds };

type ReadBytes = Uint8Array | typeof TOO_COSTLY;

const documents = new JobProcess<PageJob>(new URL('./page-child.ts', import.meta.url));

/** The process that reads documents for this program, while there is one. */
export function documentProcessId(): number | undefined {
  return documents.pid;
}

async function runHere({ job, bytes, bounds }: Reading, signal?: AbortSignal): Promise<ReadBytes> {
  try {
    return await documents.run(job, bytes, bounds, signal);
  } catch (error) {
    if (error instanceof JobEnded) return TOO_COSTLY;
    throw error;
  }
}

/** What a thread sends to the main thread, and what comes back through the port. */
type Request = { readonly kind: typeof REQUEST; readonly reading: Reading; readonly port: MessagePort };
type Reply = { readonly page: ReadBytes } | { readonly failure: string };

const REQUEST = 'pinakes: read a document';

async function runOnMainThread(reading: Reading): Promise<ReadBytes> {
  const { port1, port2 } = new MessageChannel();
  const reply = once(port1, 'message');
  const bytes = Uint8Array.from(reading.bytes);
  const request: Request = { kind: REQUEST, reading: { ...reading, bytes }, port: port2 };
  try {
    await postMessageToThread(0, request, [port2, bytes.buffer]);
  } catch (error) {
    // A program that uses this as a library may have loaded it on this thread only.
    if ((error as { code?: string }).code !== 'ERR_WORKER_MESSAGING_FAILED') throw error;
    return runHere(reading);
  }
  const [answer] = (await reply) as [Reply];
  port1.close();
  if ('failure' in answer) throw new Error(answer.failure);
  return answer.page;
}

/** The main thread's side. A thread that ends closes its port, and what was read for it is given up. */
async function answer({ reading, port }: Request): Promise<void> {
  const gone = new AbortController();
  port.on('close', () => gone.abort());
  const reply = await runHere(reading, gone.signal).then(
    (page): Reply => ({ page }),
    (error): Reply => ({ failure: String((error as Error).stack ?? error) }),
  );
  if (!gone.signal.aborted) port.postMessage(reply, buffersOf(reply));
}

/** A long page must not be in memory twice. */
function buffersOf(reply: Reply): ArrayBuffer[] {
  return 'page' in reply && reply.page !== TOO_COSTLY ? [reply.page.buffer as ArrayBuffer] : [];
}

if (isMainThread)
  process.on('workerMessage', (request: Request | undefined) => {
    if (request?.kind === REQUEST) void answer(request);
  });
