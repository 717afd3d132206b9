/**
 * `pinakes warc`: the commands on files, with their arguments and options. The code of a command is loaded when the
 * command runs.
 */
import { type Command, Option } from 'commander';
import { type CommandContext, choiceOption, commandAction } from '../command.ts';

const PARTS = ['headers', 'block', 'payload', 'decoded', 'raw'];

/** An option that prints one part of a record, and so excludes the others. */
function partOption(part: string, description: string): Option {
  return new Option(`--${part}`, description).conflicts(PARTS.filter((other) => other !== part));
}

const PATHS = 'files, or directories that contain WARC, ARC and WACZ files';

export function registerWarc(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const warc = program.command('warc').description('list, print, check, index and convert WARC, ARC and WACZ files');

  warc
    .command('ls')
    .description('list the records of files')
    .argument('<paths...>', PATHS)
    .option('--json', 'print one JSON object per record, with digests')
    .action(run(async () => (await import('./ls.ts')).warcLs));

  warc
    .command('cat')
    .description('print one record')
    .argument('<file>', 'the file; FILE.wacz!NAME for a file in a package, as ls shows it')
    .argument('<offset>', 'the offset of the record, as ls shows it')
    .addOption(partOption('headers', 'print only the headers of the record and of the HTTP message in it'))
    .addOption(partOption('block', 'print only the block: everything after the header of the record'))
    .addOption(partOption('payload', 'print only the payload: the body without chunk framing, with its content coding'))
    .addOption(partOption('decoded', 'print only the payload without its content coding, as a browser shows it'))
    .addOption(partOption('raw', 'print the bytes as stored in the file, still compressed'))
    .action(run(async () => (await import('./cat.ts')).warcCat));

  warc
    .command('check')
    .description('report what is wrong in files; exits with 1 when there are errors')
    .argument('<paths...>', PATHS)
    .option('--json', 'print one JSON object per finding and per record, and a summary')
    .option('--verbose', 'also print the result of the digest check of every record')
    .action(run(async () => (await import('./check.ts')).warcCheck));

  warc
    .command('index')
    .description('write index lines of files')
    .argument('<paths...>', PATHS)
    .addOption(choiceOption('--format <format>', 'the format of the lines', ['cdxj', 'cdx11', 'cdx9'], 'cdxj'))
    .option('--sort', 'sort the lines in byte order')
    .option('--post-append', 'include method and body of POST requests in the key')
    .option('--compute-sha1', 'with cdx11 and cdx9: compute the SHA-1 of records that declare another digest')
    .action(run(async () => (await import('./indexing.ts')).warcIndex));

  warc
    .command('convert')
    .description(
      'write files in another compression, or ARC files as WARC files; reads back and compares what it wrote',
    )
    .argument('<paths...>', PATHS)
    .addOption(
      choiceOption('--to <kind>', 'the kind of file to write', ['warc.gz', 'warc.zst', 'warc']).makeOptionMandatory(),
    )
    .addOption(
      choiceOption(
        '--dictionary <kind>',
        'for warc.zst: no dictionary, one per file, or one for the whole site (all files of the command)',
        ['none', 'file', 'site'],
        'file',
      ),
    )
    .option('--out <directory>', 'the directory for the new files (default: beside the old ones)')
    .option('--level <number>', 'the compression level')
    .option('--force', 'replace existing files')
    .option('--json', 'print one JSON object per file')
    .action(run(async () => (await import('./convert.ts')).warcConvert));
}
