/**
 * Reads pages with limits on memory and time (I9). PDF and office documents are like programs: a few kilobytes can draw
 * for ever or unpack to gigabytes. They are read in a child process, one at a time. A document that exceeds a limit
 * ends the child process, and the program goes on. Ordinary pages are read on the thread of the caller, because sending
 * them to another process would cost more.
 *
 * The child process belongs to the main thread. Other threads send their documents to the main thread, so there is one
 * child process for all threads.
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
  type PageReadOptions,
  type PageSource,
  pageKind,
  readPageOnThisThread,
  withLanguage,
} from './page.ts';
import type { PageJob } from './page-worker.ts';

/** Markup of this size takes at most about a tenth of a second to read. Few pages are larger. */
const SYNC_BYTES_MAX = 1024 * 1024;
/**
 * An ordinary PDF document takes a hundredth of a second per page. The worst large HTML page takes about ten seconds.
 */
const READING_MS_MAX = 60_000;
/** For ordinary documents the child process needs 150 to 250 MB, mostly for the code that reads them. */
const DOCUMENT_MEMORY_DEFAULT = 512_000_000;

export type ReadingBounds = {
  /** The total memory that the child process may use. */
  readonly memoryBytesMax?: number | undefined;
  readonly msMax?: number | undefined;
};

/** A page whose bytes may still have content codings. */
export type CodedSource = PageSource & { readonly codings?: readonly string[] };

/**
 * Reads a page: PDF and office documents in the child process, and all others on this thread. Returns undefined if the
 * source is not a page.
 */
export async function readPage(
  source: PageSource,
  options: PageReadOptions = {},
  bounds: ReadingBounds = {},
): Promise<Page | undefined> {
  const kind = pageKind(source.mime, source.bytes);
  if (kind === 'pdf' || kind === 'office') return readDocument({ ...source, codings: [] }, options, bounds);
  return kind && readPageOnThisThread(source, options);
}

/** Like `readPage`, but reads large pages of all kinds in the child process, so that they do not block the program. */
export async function readPageInBackground(
  { codings = [], ...source }: CodedSource,
  options: PageReadOptions = {},
  bounds: ReadingBounds = {},
): Promise<Page | undefined> {
  // One byte beyond the limit shows that the page is larger.
  const bytes = codings.length === 0 ? source.bytes : decodedStart(source.bytes, codings, SYNC_BYTES_MAX + 1);
  const kind = pageKind(source.mime, bytes);
  if (kind === 'pdf' || kind === 'office') return readDocument({ ...source, codings }, options, bounds);
  if (kind === undefined || bytes.length <= SYNC_BYTES_MAX)
    return kind && readPageOnThisThread({ ...source, bytes }, options);
  const read = await readInProcess({ ...source, codings, bytesMax: PAGE_BYTES_MAX + 1 }, options, bounds);
  if (read !== TOO_COSTLY) return read;
  // The beginning of markup or text is still useful, so read it here.
  const page = await readPageOnThisThread({ ...source, bytes: bytes.subarray(0, SYNC_BYTES_MAX) }, options);
  return page && { ...page, isTruncated: true };
}

type Source = PageSource & Pick<PageJob, 'codings' | 'bytesMax'>;

async function readDocument(
  document: Omit<Source, 'bytesMax'>,
  options: PageReadOptions,
  bounds: ReadingBounds,
): Promise<Page | undefined> {
  if (document.bytes.length > DOCUMENT_BYTES_MAX) return EMPTY_PAGE;
  const read = await readInProcess({ ...document, bytesMax: DOCUMENT_BYTES_MAX + 1 }, options, bounds);
  return read === TOO_COSTLY ? { ...EMPTY_PAGE, isTooCostly: true } : read;
}

/** The page of a document that was not read. */
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
  options: PageReadOptions,
  bounds: ReadingBounds,
): Promise<Page | undefined | typeof TOO_COSTLY> {
  const { memoryBytesMax = DOCUMENT_MEMORY_DEFAULT, msMax = READING_MS_MAX } = bounds;
  const task: ReadTask = { job: { source, codings, bytesMax, options }, bytes, bounds: { memoryBytesMax, msMax } };
  const page = isMainThread ? await runInProcess(task) : await runOnMainThread(task);
  return page === TOO_COSTLY ? page : withLanguage(deserialize(page) as Page | undefined);
}

/** A page to read in the child process. */
type ReadTask = { readonly job: PageJob; readonly bytes: Uint8Array; readonly bounds: JobBounds };

type ReadBytes = Uint8Array | typeof TOO_COSTLY;

const documentProcess = new JobProcess<PageJob>(new URL('./page-child.ts', import.meta.url));

/** The id of the child process that reads documents; undefined if it is not running. */
export function documentProcessId(): number | undefined {
  return documentProcess.pid;
}

async function runInProcess({ job, bytes, bounds }: ReadTask, signal?: AbortSignal): Promise<ReadBytes> {
  try {
    return await documentProcess.run(job, bytes, bounds, signal);
  } catch (error) {
    if (error instanceof JobEnded) return TOO_COSTLY;
    throw error;
  }
}

/** The message from a thread to the main thread, and the reply through the port. */
type Request = { readonly kind: typeof REQUEST; readonly task: ReadTask; readonly port: MessagePort };
type Reply = { readonly page: ReadBytes } | { readonly failure: string };

const REQUEST = 'pinakes: read a document';

async function runOnMainThread(task: ReadTask): Promise<ReadBytes> {
  const { port1, port2 } = new MessageChannel();
  const reply = once(port1, 'message');
  const bytes = Uint8Array.from(task.bytes);
  const request: Request = { kind: REQUEST, task: { ...task, bytes }, port: port2 };
  try {
    await postMessageToThread(0, request, [port2, bytes.buffer]);
  } catch (error) {
    // A program that uses this library may have loaded it on this thread and not on the main thread.
    if ((error as { code?: string }).code !== 'ERR_WORKER_MESSAGING_FAILED') throw error;
    return runInProcess(task);
  }
  const [answer] = (await reply) as [Reply];
  port1.close();
  if ('failure' in answer) throw new Error(answer.failure);
  return answer.page;
}

/** Handles a request on the main thread. If the requesting thread ends, its port closes and the reading is aborted. */
async function answer({ task, port }: Request): Promise<void> {
  const gone = new AbortController();
  port.on('close', () => gone.abort());
  const reply = await runInProcess(task, gone.signal).then(
    (page): Reply => ({ page }),
    (error): Reply => ({ failure: String((error as Error).stack ?? error) }),
  );
  if (!gone.signal.aborted) port.postMessage(reply, buffersOf(reply));
}

/** The buffers to transfer. Copying them would put a long page into memory twice. */
function buffersOf(reply: Reply): ArrayBuffer[] {
  return 'page' in reply && reply.page !== TOO_COSTLY ? [reply.page.buffer as ArrayBuffer] : [];
}

if (isMainThread)
  process.on('workerMessage', (request: Request | undefined) => {
    if (request?.kind === REQUEST) void answer(request);
  });
