#!/usr/bin/env node
/** The command line: `pinakes <verb>`. Reads arguments, runs one command, ends with its exit code. */
import { randomUUID } from 'node:crypto';
import { Command, CommanderError, Option } from 'commander';
import { registerArchive } from './archive.ts';
import type { CommandContext } from './command.ts';
import { registerCrawl } from './crawl.ts';
import { registerDemo } from './demo.ts';
import { EXIT_REFUSED, tellFailure } from './outcome.ts';
import { registerSearch } from './search.ts';
import { registerServe } from './serve.ts';
import { registerSlim } from './slim.ts';
import { Terminal } from './terminal.ts';
import { VERSION } from './version.ts';
import { warcCat } from './warc-cat.ts';
import { warcCheck } from './warc-check.ts';
import { warcConvert } from './warc-convert.ts';
import { warcIndex } from './warc-index.ts';
import { warcLs } from './warc-ls.ts';

const terminal = new Terminal();
terminal.watch();
const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());

const context: CommandContext = {
  terminal,
  signal: interrupt.signal,
  clock: Date.now,
  newId: () => `<urn:uuid:${randomUUID()}>`,
  software: `pinakes/${VERSION}`,
  argv: process.argv.slice(2),
  directory: process.cwd(),
};

function ends(code: number): void {
  process.exitCode = code;
}

const program = new Command('pinakes')
  .description('A web archive that keeps every distinct content once, on plain WARC files.')
  .version(VERSION)
  .showHelpAfterError('(add --help for more)')
  .exitOverride();

const PARTS = ['headers', 'block', 'payload', 'decoded', 'raw'];

/** An option that asks for one part of a record, and so excludes the others. */
function only(part: string, description: string): Option {
  return new Option(`--${part}`, description).conflicts(PARTS.filter((other) => other !== part));
}

const PATHS = 'files, or directories with WARC, ARC and WACZ files below them';

const warc = program.command('warc').description('look into WARC, ARC and WACZ files, check, index and convert them');

warc
  .command('ls')
  .description('list the records of files')
  .argument('<paths...>', PATHS)
  .option('--json', 'one JSON object a record, with digests')
  .action(async (paths, options) => ends(await warcLs(context, paths, options)));

warc
  .command('cat')
  .description('print one record')
  .argument('<file>', 'the file; FILE.wacz!NAME for one in a package, as ls shows it')
  .argument('<offset>', 'where the record begins, as ls shows it')
  .addOption(only('headers', 'only the heads, of the record and of the HTTP message in it'))
  .addOption(only('block', 'only the block, which is everything after the head of the record'))
  .addOption(only('payload', 'only the payload: the body without chunk framing, content coding kept'))
  .addOption(only('decoded', 'only the payload, with its content coding removed, as a browser shows it'))
  .addOption(only('raw', 'the bytes as they lie in the file, compressed as they are'))
  .action(async (file, offset, options) => ends(await warcCat(context, file, offset, options)));

warc
  .command('check')
  .description('find what is wrong in files; ends with 1 when there are errors')
  .argument('<paths...>', PATHS)
  .option('--json', 'one JSON object a finding and a record, and a summary')
  .option('--verbose', 'the digest verdict of every record')
  .action(async (paths, options) => ends(await warcCheck(context, paths, options)));

warc
  .command('index')
  .description('write index lines of files')
  .argument('<paths...>', PATHS)
  .option('--format <format>', 'cdxj, cdx11 or cdx9', 'cdxj')
  .option('--sort', 'in byte order')
  .option('--post-append', 'put method and body of POST requests into the key')
  .action(async (paths, options) => ends(await warcIndex(context, paths, options)));

warc
  .command('convert')
  .description(
    'write files in another compression, ARC files as WARC files; reads back what it wrote before it says done',
  )
  .argument('<paths...>', PATHS)
  .requiredOption('--to <kind>', 'warc.gz, warc.zst or warc')
  .option('--dictionary <kind>', 'for warc.zst: none, one a file, or one for the whole site (all files named)', 'file')
  .option('--out <directory>', 'where the new files go (default: beside the old ones)')
  .option('--level <number>', 'compression level')
  .option('--force', 'replace files that exist')
  .option('--json', 'one JSON object a file')
  .action(async (paths, options) => ends(await warcConvert(context, paths, options)));

registerSlim(program, context, ends);

registerArchive(program, context, ends);

registerCrawl(program, context, ends);

registerServe(program, context, ends);

registerSearch(program, context, ends);

registerDemo(program, context, ends);

try {
  await program.parseAsync();
  await terminal.flush();
} catch (error) {
  if (error instanceof CommanderError) ends(error.exitCode === 0 ? 0 : EXIT_REFUSED);
  else ends(tellFailure(terminal, error));
}
