/**
 * The speed of replay: rewriting HTML compared with its bare tokenizer, and whole replies compared with rewriting
 * alone.
 *
 *     npm run bench -- replay
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2';
import { type Archive, createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom, utf8 } from '../src/base/index.ts';
import { HtmlRewriter, LinkRewriter, Replayer, type ReplayRequest } from '../src/replay/index.ts';
import { median, print, ratio } from './measure.ts';
import { SamplePages } from './sample-pages.ts';

const PAGES = 300;
const RUNS = 7;
const TIME = Date.UTC(2024, 2, 1, 10);
const ORIGINS = { uiOrigin: 'http://localhost:8080', replayOrigin: 'http://localhost:8081' };
const HEAD = '<script src="/static/wombat.js"></script>';

const NOTHING = () => {};
const CALLBACKS: TokenizerCallbacks = {
  onattribdata: NOTHING,
  onattribentity: NOTHING,
  onattribend: NOTHING,
  onattribname: NOTHING,
  oncdata: NOTHING,
  onclosetag: NOTHING,
  oncomment: NOTHING,
  ondeclaration: NOTHING,
  onend: NOTHING,
  onopentagend: NOTHING,
  onopentagname: NOTHING,
  onprocessinginstruction: NOTHING,
  onselfclosingtag: NOTHING,
  ontext: NOTHING,
  ontextentity: NOTHING,
};

export async function benchReplay(): Promise<void> {
  const samples = new SamplePages(1);
  const pages = Array.from({ length: PAGES }, (_, number) => samples.page(number));
  const bytes = pages.map(({ body }) => utf8(body));
  const megabytes = bytes.reduce((sum, body) => sum + body.length, 0) / 1e6;
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-bench-'));
  try {
    await createArchive(directory);
    const archive = await openArchive(directory, { clock: Date.now, newId: seededIds(seededRandom(1)) });
    for (const { url, head, body } of pages) {
      await archive.store({ kind: 'http', url, time: TIME, responseHead: utf8(head), body: utf8(body) });
    }
    const image = new Uint8Array(30_000).fill(7);
    await archive.store({
      kind: 'http',
      url: 'http://image.example/',
      time: TIME,
      responseHead: utf8('HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n'),
      body: image,
    });
    const urls = pages.map(({ url }) => url);
    const tokenized: number[] = [];
    const rewritten: number[] = [];
    const answered: number[] = [];
    const passed: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      tokenized.push(seconds(() => tokenize(bytes)));
      rewritten.push(seconds(() => rewrite(bytes, urls)));
      answered.push(await answer(archive, urls, 'mp_'));
      passed.push(
        await answer(
          archive,
          urls.map(() => 'http://image.example/'),
          'im_',
        ),
      );
    }
    const speed = (times: readonly number[]) => (megabytes / median(times)).toFixed(0);
    print(`${PAGES} pages, ${megabytes.toFixed(1)} MB of HTML, median of ${RUNS} runs`);
    print(`bare tokenizer        ${speed(tokenized)} MB/s`);
    print(
      `rewriting             ${speed(rewritten)} MB/s   ratio ${ratio(tokenized, rewritten)} of the bare tokenizer`,
    );
    print(
      `whole answers, HTML   ${speed(answered)} MB/s   ${(PAGES / median(answered)).toFixed(0)} pages/s   ratio ${ratio(rewritten, answered)} of the rewriting`,
    );
    print(`whole answers, image  ${(PAGES / median(passed)).toFixed(0)} answers/s of 30 KB`);
    await archive.close();
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function seconds(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

function tokenize(bodies: readonly Uint8Array[]): void {
  for (const body of bodies) {
    const tokenizer = new Tokenizer({ decodeEntities: false }, CALLBACKS);
    tokenizer.write(Buffer.from(body).toString('utf8'));
    tokenizer.end();
  }
}

function rewrite(bodies: readonly Uint8Array[], urls: readonly string[]): void {
  for (const [at, body] of bodies.entries()) {
    const rewriter = new HtmlRewriter({ links: new LinkRewriter(urls[at]!, TIME), head: HEAD });
    utf8(rewriter.write(Buffer.from(body).toString('utf8')) + rewriter.end());
  }
}

async function answer(archive: Archive, urls: readonly string[], modifier: 'mp_' | 'im_'): Promise<number> {
  const replayer = new Replayer(archive, ORIGINS);
  const start = performance.now();
  for (const url of urls) {
    const request: ReplayRequest = {
      url,
      at: TIME,
      isFromPage: false,
      modifier,
      method: 'GET',
      fields: () => undefined,
    };
    const { status } = await replayer.respond(request);
    if (status !== 200) throw new Error(`${url} was answered with ${status}`);
  }
  return (performance.now() - start) / 1000;
}
