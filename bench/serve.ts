/**
 * The speed of the server, compared with a bare node:http server that sends the same bytes from memory. The same client
 * (autocannon, in a separate process) requests both in the same run:
 *
 *     npm run bench -- serve [--minutes N] [--seconds N]        0 minutes: no endurance test; 0 seconds: only that
 *
 * - replay of stored bytes (`id_`): at least 0.4 of the bare server
 * - exact CDX lookups: at least 0.3 of the bare server; also lookups of URLs that are each requested once, so that no
 *   cache can help
 * - rewritten pages: printed
 * - memory over some minutes of mixed load at 64 connections: printed at the start, the middle and the end
 *
 * Each server runs in a separate process, so that it does not collect the garbage of the other. Before each comparison,
 * both are warmed up until their code is compiled, because a server runs for months.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { seededIds, seededRandom, utf8 } from '../src/base/index.ts';
import { median, print } from './measure.ts';

const PAGES = 500;
const RUNS = 5;
const TIME = Date.UTC(2024, 2, 1);
const CONNECTIONS = 64;
const WARM_UP_SECONDS = 15;

export async function benchServe(argv: readonly string[]): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-bench-serve-'));
  try {
    await fill(directory);
    const seconds = numberOf(argv, '--seconds', 3);
    const ours = await start('serve-child.ts', [directory]);
    try {
      if (seconds > 0) await compare(ours.addresses, seconds);
      await endure(ours, numberOf(argv, '--minutes', 1));
    } finally {
      await ours.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function numberOf(argv: readonly string[], option: string, otherwise: number): number {
  const at = argv.indexOf(option);
  return at < 0 ? otherwise : Number(argv[at + 1]);
}

/** Pages of about 10 KB with links, styles and scripts. */
async function fill(directory: string): Promise<void> {
  await createArchive(directory, { name: 'bench' });
  let now = TIME;
  const archive = await openArchive(directory, { clock: () => (now += 1000), newId: seededIds(seededRandom(1)) });
  const head = utf8('HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n');
  const stores = Array.from({ length: PAGES }, (_, i) =>
    archive.store({ kind: 'http', url: urlOf(i), time: TIME + i * 1000, responseHead: head, body: utf8(pageText(i)) }),
  );
  await Promise.all(stores);
  await archive.close();
}

const urlOf = (i: number) => `http://site-${i % 20}.test/section/${i}`;
const stampOf = (i: number) => new Date(TIME + i * 1000).toISOString().replace(/\D/g, '').slice(0, 14);

function pageText(i: number): string {
  const rows = Array.from({ length: 60 }, (_, row) => {
    return `<li class="row"><a href="/section/${(i + row) % PAGES}">Entry ${row} of ${i}</a> <img src="/images/${row}.png" alt=""></li>`;
  });
  return `<!doctype html><html><head><title>${i}</title><link rel="stylesheet" href="/style.css"><style>body{background:url(/b.png)}</style></head>
<body>${rows.join('\n')}<script>var here = location.href; document.title = here + ${i};</script></body></html>`;
}

type Child = {
  readonly addresses: { readonly ui: string; readonly replay: string };
  readonly pid: number;
  stop(): Promise<void>;
};

async function start(file: string, argv: readonly string[]): Promise<Child> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [path, ...argv], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    addresses: JSON.parse(line) as Child['addresses'],
    pid: child.pid!,
    async stop() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

type Load = { readonly perSecond: number; readonly errors: number };

/** Sends requests to several paths of one server from a separate process. */
async function load(address: string, paths: readonly string[], seconds: number, connections: number): Promise<Load> {
  const path = fileURLToPath(new URL('serve-client.ts', import.meta.url));
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  child.stdin.end(JSON.stringify({ address, paths, seconds, connections }));
  const [text] = await line;
  await once(child, 'exit');
  return JSON.parse(text) as Load;
}

async function compare({ ui, replay }: Child['addresses'], seconds: number): Promise<void> {
  const numbers = Array.from({ length: PAGES }, (_, i) => i);
  const kinds = [
    {
      name: 'stored bytes (id_)',
      bar: 0.4,
      address: replay,
      paths: numbers.map((i) => `/web/${stampOf(i)}id_/${urlOf(i)}`),
    },
    {
      name: 'exact CDX lookup',
      bar: 0.3,
      address: ui,
      paths: numbers.map((i) => `/cdx?url=${encodeURIComponent(urlOf(i))}`),
    },
    {
      name: 'exact CDX lookup, each URL once',
      bar: undefined,
      address: ui,
      paths: ['/cdx?url=http://site-1.test/section/[<id>]'],
    },
    {
      name: 'rewritten page',
      bar: undefined,
      address: replay,
      paths: numbers.map((i) => `/web/${stampOf(i)}mp_/${urlOf(i)}`),
    },
  ];
  for (const { name, bar, address, paths } of kinds) {
    const bare = await start('serve-bare.ts', [address + paths[0]!]);
    const ratios: number[] = [];
    const ours: number[] = [];
    try {
      await Promise.all([bare.addresses.ui, address].map((warming) => load(warming, paths, WARM_UP_SECONDS, 16)));
      for (let run = 0; run < RUNS; run++) {
        const theirs = await load(bare.addresses.ui, paths, seconds, 16);
        const mine = await load(address, paths, seconds, 16);
        if (mine.errors > 0) throw new Error(`${name}: ${mine.errors} requests failed`);
        ours.push(mine.perSecond);
        ratios.push(mine.perSecond / theirs.perSecond);
      }
    } finally {
      await bare.stop();
    }
    const said = bar === undefined ? '' : ` (bar ${bar})`;
    print(
      `${name}: ${median(ratios).toFixed(2)} of a bare node:http server${said}, ${Math.round(median(ours))} a second`,
    );
  }
}

/** Runs mixed load for minutes, and measures the memory of the server at the same time. */
async function endure({ addresses, pid }: Child, minutes: number): Promise<void> {
  if (minutes <= 0) return;
  const numbers = Array.from({ length: PAGES }, (_, i) => i);
  const replay = numbers.flatMap((i) => [
    `/web/${stampOf(i)}id_/${urlOf(i)}`,
    `/web/${stampOf(i)}mp_/${urlOf(i)}`,
    `/web/${stampOf(i)}mp_/http://nothing.test/${i}`,
  ]);
  const ui = numbers.flatMap((i) => [
    `/cdx?url=${encodeURIComponent(urlOf(i))}`,
    `/cdx?url=site-${i % 20}.test/*&limit=20&output=json`,
    `/web/timemap/link/${urlOf(i)}`,
    '/api/info',
  ]);
  const samples: number[] = [];
  const rounds = Math.max(3, Math.ceil(minutes * 3));
  for (let round = 0; round < rounds; round++) {
    const seconds = (minutes * 60) / rounds;
    await Promise.all([
      load(addresses.replay, replay, seconds, CONNECTIONS / 2),
      load(addresses.ui, ui, seconds, CONNECTIONS / 2),
    ]);
    samples.push(await residentMb(pid));
  }
  const middle = samples[Math.floor(samples.length / 2)]!;
  print(
    `memory over ${minutes} minutes of mixed load at ${CONNECTIONS} connections: ${samples.map(Math.round).join(', ')} MB; last to middle ${(samples.at(-1)! / middle).toFixed(2)}`,
  );
}

async function residentMb(pid: number): Promise<number> {
  const child = spawn('ps', ['-o', 'rss=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const piece of child.stdout) text += piece;
  return Number(text) / 1024;
}
