/** A server on a small archive, and a client of its API. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Archive, createArchive } from '../../src/archive/index.ts';
import { seededIds, seededRandom, utf8 } from '../../src/base/index.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../src/server/index.ts';
import { WarcFileWriter } from '../../src/warc/index.ts';
import { openWithParts } from '../archive/opened-parts.ts';

export const TOKEN = 'token-of-the-tests';
export const START_MS = Date.parse('2024-03-01T10:00:00Z');
const DAY_MS = 86_400_000;

let seed = 0;

export type Served = {
  readonly directory: string;
  readonly archive: Archive;
  readonly server: RunningServer;
  /** Sends a request with the token, or without it if `token` is empty. */
  readonly call: (path: string, options?: CallOptions) => Promise<Reply>;
  /** Waits until a job is over. */
  readonly overJob: (id: string) => Promise<JobReply>;
};

export type CallOptions = {
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: Uint8Array | ReadableStream;
  readonly token?: string;
  readonly headers?: Record<string, string>;
};

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The body as JSON. */
  readonly json: Record<string, unknown>;
};

export type JobReply = {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly origin: string;
  readonly hasErrors?: boolean;
  readonly input: Record<string, unknown>;
  readonly report?: Record<string, unknown>;
  readonly error?: { readonly code: string; readonly message: string };
  readonly log: string[];
};

export function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-api-'));
  // Hooks that run later close files in this directory, and may still write to it.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

export function contentOf(number: number): string {
  return `<!doctype html><title>Scroll ${number}</title><h1>Scroll ${number}</h1>${`<p>Shelf ${number}, row by row.</p>`.repeat(60)}`;
}

/** Stores captures of a URL, one for each day. Each number stands for a content. */
export async function storeDays(
  archive: Archive,
  url: string,
  contents: readonly number[],
  collection = 'default',
): Promise<void> {
  for (const [day, content] of contents.entries()) {
    const responseHead = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n');
    const time = START_MS + day * DAY_MS;
    await archive.store({ kind: 'http', url, time, responseHead, body: utf8(contentOf(content)) }, { collection });
  }
}

/** Writes a WARC file with this many pages. */
export async function writeWarc(path: string, site: string, pages: number): Promise<void> {
  const writer = await WarcFileWriter.create(path, { coding: 'gzip' });
  const newId = seededIds(seededRandom(++seed));
  for (let page = 0; page < pages; page++) {
    const record = {
      type: 'response',
      recordId: newId(),
      date: '2024-05-01T10:00:00Z',
      targetUri: `http://${site}.test/${page}`,
      contentType: 'application/http; msgtype=response',
    } as const;
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n';
    await writer.write(record, utf8(`${head}${contentOf(1000 + page)} ${site}`));
  }
  await writer.finish();
}

/** Leaves the file and the job of an upload, as a killed server does. Returns the name of the file in jobs. */
export function leaveUpload(directory: string, jobId: string, bytes: Uint8Array): string {
  const upload = `${randomUUID()}-site.warc.gz`;
  mkdirSync(join(directory, 'uploads'), { recursive: true });
  writeFileSync(join(directory, 'uploads', upload), bytes);
  const job = { id: jobId, kind: 'add', state: 'running', origin: 'api', input: { upload } };
  const line = JSON.stringify({ ...job, createdAt: '2024-03-01T10:00:00Z', log: [] });
  appendFileSync(join(directory, 'jobs.jsonl'), `${line}\n`);
  return upload;
}

export async function openServed(directory: string, options: Partial<ServerOptions> = {}): Promise<Served> {
  const clock = options.clock ?? (() => START_MS + 100 * DAY_MS);
  const newId = seededIds(seededRandom(++seed));
  const archive = await openWithParts(directory, { clock, newId });
  const server = await startServer({
    archive,
    host: '127.0.0.1',
    port: 0,
    replayPort: 0,
    token: TOKEN,
    clock,
    newId,
    version: '0.0.0-test',
    jobKinds: [],
    onFailure: (error) => {
      throw error;
    },
    ...options,
  });
  const call = (path: string, given: CallOptions = {}) => send(server.uiAddress, path, given);
  const overJob = async (id: string): Promise<JobReply> => {
    for (;;) {
      const job = (await call(`/api/jobs/${id}`)).json as unknown as JobReply;
      if (['done', 'failed', 'cancelled'].includes(job.state)) return job;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return { directory, archive, server, call, overJob };
}

/** Serves a new archive until the end of the test. */
export async function served(t: TestContext, options: Partial<ServerOptions> = {}): Promise<Served> {
  const directory = scratch(t);
  await createArchive(directory, { name: 'trial' });
  return servedAt(t, directory, options);
}

/** Serves an existing archive until the end of the test. */
export async function servedAt(t: TestContext, directory: string, options: Partial<ServerOptions>): Promise<Served> {
  const one = await openServed(directory, options);
  t.after(async () => {
    await one.server.close();
    await one.archive.close();
  });
  return one;
}

/** Waits until a search has this many results. */
export async function untilFound({ call }: Served, query: string, total: number): Promise<Record<string, unknown>> {
  for (;;) {
    const { status, json } = await call(`/api/search?${new URLSearchParams({ q: query })}`);
    if (status === 200 && json.total === total) return json;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function send(origin: string, path: string, options: CallOptions): Promise<Reply> {
  const { json, body, token = TOKEN, headers = {} } = options;
  const response = await fetch(`${origin}${path}`, {
    method: options.method ?? (json !== undefined || body !== undefined ? 'POST' : 'GET'),
    headers: {
      ...(token !== '' && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(body !== undefined && { body, duplex: 'half' }),
  } as RequestInit);
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    get json() {
      return JSON.parse(bytes.toString()) as Record<string, unknown>;
    },
  };
}
