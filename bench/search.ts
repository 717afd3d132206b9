/**
 * The search: the speed of indexing a WARC file, compared with a scan of the same file on one thread; the share of that
 * time for the full-text tables; the time of searches over many pages, compared with a plain scan of their texts; the
 * time of PageRank, compared with one pass over the same links.
 */
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Archive, createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom } from '../src/base/index.ts';
import { Indexer, listEdges, openSearch } from '../src/search/index.ts';
import { scanFiles, WarcFileWriter } from '../src/warc/index.ts';
import { median, print } from './measure.ts';
import { writeSampleWarc } from './sample-warc.ts';

const RUNS = 3;
const SEARCHES = 400;

export async function benchSearch(argv: readonly string[]): Promise<void> {
  const megabytes = Number(argv[0] ?? 30);
  const pages = Number(argv[1] ?? 100_000);
  const directory = join(tmpdir(), 'pinakes-bench');
  mkdirSync(directory, { recursive: true });
  await benchIndexing(directory, megabytes);
  await benchSearching(directory, pages);
}

/** The processor seconds that the work takes in this process. */
async function processorSeconds(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function benchIndexing(directory: string, megabytes: number): Promise<void> {
  const file = join(directory, `search-${megabytes}.warc.gz`);
  if (!existsSync(file)) await writeSampleWarc(file, { bytes: megabytes * 1e6, duplicates: 0.3 });
  const at = join(directory, 'search-archive');
  const scans: number[] = [];
  const indexings: number[] = [];
  const shares: number[] = [];
  let payload = 0;
  let all = 0;
  for (let run = 0; run < RUNS; run++) {
    const archive = await freshArchive(at);
    await archive.add([file]);
    scans.push(
      await processorSeconds(async () => {
        for await (const _ of scanFiles([file], { workers: 1 }));
      }),
    );
    const indexer = await Indexer.open(archive, { stopwatch: () => performance.now() });
    let report: Awaited<ReturnType<Indexer['catchUp']>> | undefined;
    indexings.push(
      await processorSeconds(async () => {
        report = await indexer.catchUp();
      }),
    );
    shares.push(report!.wordsMs / report!.busyMs);
    payload = report!.bytes;
    all = (await archive.totals()).payloadBytes;
    await indexer.close();
    await archive.close();
  }
  rmSync(at, { recursive: true, force: true });
  const seconds = median(indexings);
  const stored = statSync(file).size / 1e6;
  print(
    `index: ${stored.toFixed(0)} MB of .warc.gz, ${(payload / 1e6).toFixed(0)} MB of distinct HTML, ${RUNS} runs, processor time of all threads`,
  );
  print(`  WARC, payloads of all records ${(all / 1e6 / seconds).toFixed(1)} MB/s a core   (bar 15)`);
  print(`  distinct HTML                 ${(payload / 1e6 / seconds).toFixed(1)} MB/s a core`);
  print(`  full-text tables              ${(100 * median(shares)).toFixed(0)} % of the writer's time`);
  print(
    `  ratio to a scan               ${median(scans.map((scan, run) => indexings[run]! / scan)).toFixed(1)} times the time of scanning and hashing the file`,
  );
}

async function freshArchive(at: string): Promise<Archive> {
  rmSync(at, { recursive: true, force: true });
  await createArchive(at);
  return openArchive(at, { clock: () => Date.now(), newId: seededIds(seededRandom(1)) });
}

async function benchSearching(directory: string, pages: number): Promise<void> {
  const at = join(directory, `search-${pages}`);
  if (!existsSync(join(at, 'done'))) await makeIndex(at, pages);
  const archive = await openArchive(at, { clock: () => Date.now(), newId: seededIds(seededRandom(2)) });
  const indexer = await Indexer.open(archive, { stopwatch: () => performance.now() });
  await indexer.catchUp();
  const start = performance.now();
  const rank = await indexer.rank();
  const rankSeconds = (performance.now() - start) / 1000;
  await indexer.close();
  await archive.close();
  const passStart = performance.now();
  let edges = 0;
  for (const _ of listEdges(at)) edges++;
  const passSeconds = (performance.now() - passStart) / 1000;
  print(`rank: ${rank.urls} pages, ${rank.links} links between them, ${rank.iterations} rounds`);
  print(`  PageRank                      ${rankSeconds.toFixed(2)} s   (bar 5 for a million links)`);
  print(`  ratio to listing ${edges} links  ${(rankSeconds / passSeconds).toFixed(2)}`);
  await searches(at);
}

/** Queries like those of people: mostly one to three words, common and rare, sometimes with a field. */
async function searches(at: string): Promise<void> {
  const search = openSearch(at);
  const random = seededRandom(5);
  const word = () => wordAt(Math.floor(VOCABULARY ** random()) - 1);
  const times: number[] = [];
  const processorTimes: number[] = [];
  for (let run = 0; run < SEARCHES; run++) {
    const words = Array.from({ length: 1 + Math.floor(random() * 3) }, word);
    const kind = run % 8;
    const query =
      kind === 0
        ? `"${words.join(' ')}"`
        : kind === 1
          ? `${words.join(' ')} site:site${Math.floor(random() * 50)}.example`
          : kind === 2
            ? `title:${words[0]} lang:en`
            : kind === 3
              ? words.join(' OR ')
              : words.join(' ');
    const start = performance.now();
    const seconds = await processorSeconds(() => search.search(query, { facets: run % 2 === 0 }));
    times.push(performance.now() - start);
    processorTimes.push(1000 * seconds);
  }
  const status = search.status();
  search.close();
  const at99 = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!;
  const formatted = (of: (values: number[]) => number) =>
    `${of(times).toFixed(1)} ms elapsed, ${of(processorTimes).toFixed(1)} ms of processor time`;
  print(`search: ${SEARCHES} queries over ${status.documents} pages, half of them with facets`);
  print(`  median                        ${formatted(median)}   (bar 30)`);
  print(`  99 of 100                     ${formatted(at99)}   (bar 200)`);
}

const VOCABULARY = 50_000;

/** The n-th most common word of an invented language. */
function wordAt(rank: number): string {
  const syllables = ['ka', 'lo', 'mi', 'ne', 'ru', 'sa', 'to', 've', 'wi', 'zo', 'pa', 'di', 'fu', 'gi', 'he', 'ja'];
  let word = '';
  for (let left = rank + 17; left > 0; left = Math.floor(left / 16)) word += syllables[left % 16];
  return word;
}

/** An archive of short pages of about a hundred words, each with ten links to other pages. */
async function makeIndex(at: string, pages: number): Promise<void> {
  const file = `${at}.warc.gz`;
  const random = seededRandom(3);
  const newId = seededIds(seededRandom(4));
  const text = (words: number) =>
    Array.from({ length: words }, () => wordAt(Math.floor(VOCABULARY ** random()) - 1)).join(' ');
  const url = (page: number) => `http://site${page % 50}.example/page/${page}`;
  const writer = await WarcFileWriter.create(file, { coding: 'gzip', force: true });
  for (let page = 0; page < pages; page++) {
    const links = Array.from(
      { length: 10 },
      () => `<a href="${url(Math.floor(pages * random() ** 2))}">${text(2)}</a>`,
    ).join(' ');
    const body = `<html lang=en><title>${text(5)}</title><body><h1>${text(4)}</h1><p>${text(120 + Math.floor(random() * 200))}</p>${links}`;
    const block = `HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${body}`;
    const date = new Date(Date.UTC(2024, 0, 1) + page * 60_000).toISOString();
    await writer.write(
      {
        type: 'response',
        recordId: newId(),
        date,
        targetUri: url(page),
        contentType: 'application/http; msgtype=response',
      },
      Buffer.from(block),
    );
  }
  await writer.finish();
  const archive = await freshArchive(at);
  await archive.add([file], { inPlace: true });
  const indexer = await Indexer.open(archive);
  await indexer.catchUp();
  await indexer.close();
  await archive.close();
  mkdirSync(join(at, 'done'));
}
