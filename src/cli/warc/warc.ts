/**
 * `pinakes warc`: the commands on files, with their arguments and options. What they do is loaded when one is asked
 * for.
 */
import { type Command, Option } from 'commander';
import { type CommandContext, choiceOption } from '../command.ts';

const PARTS = ['headers', 'block', 'payload', 'decoded', 'raw'];

/** An option that asks for one part of a record, and so excludes the others. */
function only(part: string, description: string): Option {
  return new Option(`--${part}`, description).conflicts(PARTS.filter((other) => other !== part));
}

const PATHS = 'files, or directories with WARC, ARC and WACZ files below them';

export function registerWarc(program: Command, context: CommandContext, ends: (code: number) => void): void {
  const warc = program.command('warc').description('look into WARC, ARC and WACZ files, check, index and convert them');

  warc
    .command('ls')
    .description('list the records of files')
    .argument('<paths...>', PATHS)
    .option('--json', 'one JSON object a record, with digests')
    .action(async (paths, options) => ends(await (await import('./ls.ts')).warcLs(context, paths, options)));

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
    .action(async (file, offset, options) =>
      ends(await (await import('./cat.ts')).warcCat(context, file, offset, options)),
    );

  warc
    .command('check')
    .description('find what is wrong in files; ends with 1 when there are errors')
    .argument('<paths...>', PATHS)
    .option('--json', 'one JSON object a finding and a record, and a summary')
    .option('--verbose', 'the digest verdict of every record')
    .action(async (paths, options) => ends(await (await import('./check.ts')).warcCheck(context, paths, options)));

  warc
    .command('index')
    .description('write index lines of files')
    .argument('<paths...>', PATHS)
    .addOption(choiceOption('--format <format>', 'of the lines', ['cdxj', 'cdx11', 'cdx9'], 'cdxj'))
    .option('--sort', 'in byte order')
    .option('--post-append', 'put method and body of POST requests into the key')
    .option('--compute-sha1', 'with cdx11 and cdx9: the SHA-1 also of records that declare another digest')
    .action(async (paths, options) => ends(await (await import('./indexing.ts')).warcIndex(context, paths, options)));

  warc
    .command('convert')
    .description(
      'write files in another compression, ARC files as WARC files; reads back what it wrote before it says done',
    )
    .argument('<paths...>', PATHS)
    .addOption(choiceOption('--to <kind>', 'what to write', ['warc.gz', 'warc.zst', 'warc']).makeOptionMandatory())
    .addOption(
      choiceOption(
        '--dictionary <kind>',
        'for warc.zst: none, one a file, or one for the whole site (all files named)',
        ['none', 'file', 'site'],
        'file',
      ),
    )
    .option('--out <directory>', 'where the new files go (default: beside the old ones)')
    .option('--level <number>', 'compression level')
    .option('--force', 'replace files that exist')
    .option('--json', 'one JSON object a file')
    .action(async (paths, options) => ends(await (await import('./convert.ts')).warcConvert(context, paths, options)));
}
