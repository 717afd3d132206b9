/**
 * The memory of `pinakes add` over files with many small captures of many hosts. Prints the peaks of the process, and
 * what the catalog takes on disk for each capture. Linux only, since it reads /proc.
 *
 *     npm run trial -- add-memory [--captures 1000000] [--directory DIRECTORY] [--keep]
 *
 * The files are made with a fixed seed, and used again when the directory has them. 9 of 20 captures have a content
 * that another one may have.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { digestOf, formatW3cDate, type Random, seededIds, seededRandom, utf8 } from '../../src/base/index.ts';
import { MemberEncoder, recordParts } from '../../src/warc/index.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');
const FILE_CAPTURES = 100_000;
const HOSTS = 2000;
const WORDS = 3000;
const SAMPLES_APART_MS = 100;

export async function tryAddMemory(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      captures: { type: 'string', default: '1000000' },
      directory: { type: 'string', default: join(tmpdir(), 'pinakes-add-memory') },
      keep: { type: 'boolean', default: false },
    },
  });
  const { directory } = values;
  const captures = Number(values.captures);
  mkdirSync(directory, { recursive: true });
  const files = await filesOf(directory, captures);
  const archive = join(directory, 'archive');
  rmSync(archive, { recursive: true, force: true });
  spawnSync(process.execPath, [MAIN, 'init', '--archive', archive]);
  const added = await addWatched(archive, files);
  const bytes = bytesIn(join(archive, 'catalog'));
  process.stdout.write(`${JSON.stringify({ captures, ...added, catalogBytesPerCapture: bytes / captures })}\n`);
  rmSync(values.keep ? archive : directory, { recursive: true, force: true });
}

/** Adds the files in a process of its own, and reads its memory until it ends. */
async function addWatched(archive: string, files: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, 'add', '--archive', archive, ...files], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const peaks = { RssAnon: 0, RssFile: 0, VmHWM: 0 };
  let processorSeconds = 0;
  const watching = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      // A process that is about to end has no memory any more.
      for (const name of ['RssAnon', 'RssFile', 'VmHWM'] as const)
        peaks[name] = Math.max(
          peaks[name],
          (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1024) / 1e6,
        );
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      processorSeconds = (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      // The process has ended.
    }
  }, SAMPLES_APART_MS);
  const [status] = await once(child, 'exit');
  clearInterval(watching);
  if (status !== 0) throw new Error(`pinakes add ended with ${status}`);
  return { peakMB: peaks.VmHWM, peakOwnMB: peaks.RssAnon, peakMappedMB: peaks.RssFile, processorSeconds };
}

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

async function filesOf(directory: string, captures: number): Promise<string[]> {
  const pages = new Pages();
  const files: string[] = [];
  for (let first = 0; first < captures; first += FILE_CAPTURES) {
    const last = Math.min(captures, first + FILE_CAPTURES);
    const file = join(directory, `${first}-${last}.warc.gz`);
    files.push(file);
    if (existsSync(file)) continue;
    await pipeline(Readable.from(pages.members(first, last)), createWriteStream(`${file}.new`));
    await rename(`${file}.new`, file);
  }
  return files;
}

/** 11 of 20 captures have a content of their own. */
function isNew(number: number): boolean {
  return number % 20 < 11;
}

function newBefore(number: number): number {
  return number - (number % 20) + ((number % 20) % 11);
}

/** Small pages: their URLs are made of words, and their contents do not depend on their URLs. */
class Pages {
  #random: Random = seededRandom(7);
  readonly #words: string[];
  readonly #hosts: string[];

  constructor() {
    this.#words = Array.from({ length: WORDS }, () => this.#word());
    this.#hosts = Array.from({ length: HOSTS }, () => `https://www.${this.#some(2).join('')}.example`);
  }

  *members(first: number, last: number): Generator<Uint8Array> {
    const encoder = new MemberEncoder({ coding: 'gzip' });
    const id = seededIds(seededRandom(first + 1));
    this.#random = seededRandom(first + 2);
    try {
      for (let number = first; number < last; number++) {
        const content = isNew(number) ? number : newBefore(Math.floor(this.#random() * number));
        const payload = utf8(`<p>${content} ${this.#words[content % WORDS]!.repeat(400)}</p>`);
        const head = utf8(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${payload.length}\r\n\r\n`);
        const record = {
          type: 'response',
          recordId: id(),
          date: formatW3cDate(1_600_000_000_000 + number * 150_000),
          targetUri: `${this.#pick(this.#hosts)}/${this.#some(4).join('-')}-${number % 10_000}`,
          contentType: 'application/http; msgtype=response',
          payloadDigest: digestOf('sha1', payload),
        } as const;
        yield Buffer.from(encoder.encode(recordParts(record, Buffer.concat([head, payload]))));
      }
    } finally {
      encoder.close();
    }
  }

  #word(): string {
    return Array.from({ length: 3 }, () => this.#pick([...'bdfghklmnprst']) + this.#pick([...'aeiou'])).join('');
  }

  #some(count: number): string[] {
    return Array.from({ length: count }, () => this.#pick(this.#words));
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!;
  }
}
