/** `npm start`: makes a small sample crawl in a temporary directory and shows the tools at work on it. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { digestOf, utf8 } from '../base/index.ts';
import { WarcFileWriter, warcFields } from '../warc/index.ts';
import type { CommandContext } from './command.ts';
import { EXIT_FINE } from './outcome.ts';
import { formatBytes, Terminal } from './terminal.ts';
import { warcCheck } from './warc-check.ts';
import { warcConvert } from './warc-convert.ts';
import { warcIndex } from './warc-index.ts';
import { warcLs } from './warc-ls.ts';

const PAGES = 250;
const LINES_SHOWN = 8;

export async function demo(context: CommandContext): Promise<number> {
  const { terminal } = context;
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-demo-'));
  const file = join(directory, 'sample.warc.gz');
  const show = async (what: string, run: (context: CommandContext) => Promise<number>) => {
    await terminal.line(`\n$ pinakes ${what}`);
    const shown = new FirstLines();
    await run({ ...context, terminal: shown });
    await shown.print(terminal);
  };
  try {
    await terminal.line('Pinakes makes a sample crawl: a site of some pages, one of them captured twice.');
    await writeSample(context, file);
    await show(`warc ls ${file}`, (on) => warcLs(on, [file], {}));
    await show(`warc check ${file}`, (on) => warcCheck(on, [file], {}));
    await show(`warc index --sort ${file}`, (on) => warcIndex(on, [file], { format: 'cdxj', sort: true }));
    const convert = { to: 'warc.zst', dictionary: 'file', out: directory };
    await show(`warc convert --to warc.zst ${file}`, (on) => warcConvert(on, [file], convert));
    await terminal.line(
      `\nThe sample took ${formatBytes((await stat(file)).size)} and is removed now. Try the same on files of your own:`,
    );
    await terminal.line('  ./pinakes warc ls FILE.warc.gz\n  ./pinakes warc --help');
    return EXIT_FINE;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A terminal that keeps what is printed, and shows the beginning of it. */
class FirstLines extends Terminal {
  readonly #lines: string[] = [];

  override async write(bytes: Uint8Array | string): Promise<void> {
    this.#lines.push(...String(bytes).trimEnd().split('\n'));
  }

  async print(terminal: Terminal): Promise<void> {
    for (const line of this.#lines.slice(0, LINES_SHOWN)) await terminal.line(line);
    const more = this.#lines.length - LINES_SHOWN;
    if (more > 0) await terminal.line(`... and ${more} lines more`);
  }
}

async function writeSample({ newId, software }: CommandContext, file: string): Promise<void> {
  const writer = await WarcFileWriter.create(file, { coding: 'gzip', force: true });
  const date = '2026-11-01T12:00:00Z';
  const info = warcFields([
    { name: 'software', value: software },
    { name: 'format', value: 'WARC File Format 1.1' },
  ]);
  const warcinfoId = newId();
  await writer.write({ type: 'warcinfo', recordId: warcinfoId, date, contentType: 'application/warc-fields' }, info);
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n';
  for (let page = 1; page <= PAGES; page++) {
    const targetUri = `http://library.example/scroll/${page}`;
    const payload = utf8(pageOf(page));
    const payloadDigest = digestOf('sha256', payload);
    const recordId = newId();
    const fields = [{ name: 'WARC-Warcinfo-ID', value: warcinfoId }];
    const contentType = 'application/http; msgtype=response';
    await writer.write(
      { type: 'response', recordId, date, targetUri, payloadDigest, contentType, fields },
      Buffer.concat([utf8(head), payload]),
    );
    if (page !== PAGES) continue;
    const revisit = {
      profile: 'identical-payload-digest',
      refersTo: recordId,
      refersToTargetUri: targetUri,
      refersToDate: date,
      truncated: true,
    } as const;
    await writer.write(
      {
        type: 'revisit',
        recordId: newId(),
        date: '2026-11-08T12:00:00Z',
        targetUri,
        payloadDigest,
        contentType,
        fields,
        revisit,
      },
      utf8(head),
    );
  }
  await writer.finish();
}

/** Pages of one site are alike, which is what a dictionary lives on. */
function pageOf(page: number): string {
  const shelf = Array.from(
    { length: 12 },
    (_, row) =>
      `<li><a href="/scroll/${(page * 31 + row * 17) % PAGES}">Scroll ${(page * 31 + row * 17) % PAGES}</a>, case ${(page + row) % 9}</li>`,
  );
  return (
    '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><link rel="stylesheet" href="/library.css">' +
    `<title>Scroll ${page} - The library</title></head>\n<body>\n<nav><a href="/">Home</a> <a href="/catalogue">Catalogue</a></nav>\n` +
    `<h1>Scroll ${page}</h1>\n<p>Copied in year ${(page * 7) % 300}, kept on shelf ${page % 70}, lent ${(page * page) % 101} times.</p>\n` +
    `<h2>On the same shelf</h2>\n<ul>\n${shelf.join('\n')}\n</ul>\n</body>\n</html>\n`
  );
}
