/**
 * The verbs on an archive, with their arguments and options. What each does stands in a file of its own, which is
 * loaded when it is asked for.
 */
import { type Command, Option } from 'commander';
import { archiveCommand, bytesCommand, withArchive } from '../archive-command.ts';
import { type CommandContext, choiceOption } from '../command.ts';

const PARTS = ['headers', 'payload', 'raw', 'json'];

/** An option that asks for one part of a capture, and so excludes the others. */
function only(part: string, description: string): Option {
  return new Option(`--${part}`, description).conflicts(PARTS.filter((other) => other !== part));
}

/** Options that say which captures are meant. */
function addSelection(command: Command): Command {
  return command
    .option('--collection <name>', 'captures of this collection')
    .option('--url <url>', 'captures of this URL')
    .option('--prefix <url>', 'captures whose URL begins so; *.example.org for a domain with all below it')
    .option('--from <time>', 'captures of this time or later')
    .option('--to <time>', 'captures of this time or earlier')
    .option('--mime <type>', 'captures of this media type: text/html, or image/* for all of a kind')
    .option('--status <status>', 'captures with this HTTP status: 404, or 4xx for all from 400 to 499')
    .option('--query <query>', "captures of which all this holds: 'status:200 type:text/html site:.edu size>1000'");
}

export function registerArchive(program: Command, context: CommandContext, ends: (code: number) => void): void {
  program.hook('preAction', (_, action) => {
    if (action.getOptionValueSource('archive') === 'cli') context.terminal.namedArchive = action.opts().archive;
  });

  archiveCommand(program, 'init', 'make an archive')
    .argument('[directory]', 'where (default: the directory that --archive names)')
    .option('--name <name>', 'what the archive is called (default: the name of its directory)')
    .action(async (directory, options) =>
      ends(await (await import('./init.ts')).archiveInit(context, directory, options)),
    );

  archiveCommand(program, 'add', 'take WARC, ARC and WACZ files in; every content is kept once')
    .argument('<paths...>', 'files, or directories with WARC, ARC and WACZ files below them')
    .option('--collection <name>', 'the collection they belong to', 'default')
    .option('--in-place', 'use the files where they lie; nothing is copied, and they must stay as they are')
    .addOption(
      new Option(
        '--again',
        'read files that were added before once more; what was deleted of them comes back',
      ).conflicts('inPlace'),
    )
    .option('--volume <name>', 'the volume to copy to (default: spread by the room they have)')
    .action(async (paths, options) =>
      ends(
        await withArchive(context, options, 'add', async (archive) =>
          (await import('./add.ts')).archiveAdd(context, archive, paths, options),
        ),
      ),
    );

  archiveCommand(program, 'get', 'print a page as it was; the body as a browser would get it')
    .argument('[url]', 'the page; or say --page-id')
    .option('--page-id <hex>', 'the page with this id, 16 hexadecimal digits')
    .option('--at <time>', 'the capture nearest to this time (default: the latest)')
    .addOption(only('headers', 'the heads of the record and of the HTTP message instead of the body'))
    .addOption(only('payload', 'the body as captured, content coding kept'))
    .addOption(only('raw', 'the record as it lies in its segment, compressed as it is'))
    .action(async (url, options) =>
      ends(
        await withArchive(context, options, 'get', async (archive) =>
          (await import('./get.ts')).archiveGet(context, archive, url, options),
        ),
      ),
    );

  archiveCommand(program, 'put', 'store the bytes of a file and print their content key')
    .argument('<file>', '- for standard input')
    .option('--collection <name>', 'the collection they belong to', 'default')
    .option('--mime <type>', 'their media type')
    .addOption(
      choiceOption('--mode <mode>', 'what counts as the same content', ['regular', 'compare', 'force-new'], 'regular'),
    )
    .option('--volume <name>', 'the volume to write to (default: spread by the room they have)')
    .action(async (file, options) =>
      ends(
        await withArchive(context, options, 'put', async (archive) =>
          (await import('./put.ts')).archivePut(context, archive, file, options),
        ),
      ),
    );

  bytesCommand(program, 'cat', 'print the content that a key names')
    .argument('<key>', 'as `put` and `get --json` give it')
    .action(async (key, options) =>
      ends(
        await withArchive(context, options, 'cat', async (archive) =>
          (await import('./put.ts')).archiveCat(context, archive, key),
        ),
      ),
    );

  addSelection(archiveCommand(program, 'delete', 'take captures out; shows what would go, and asks'))
    .option('--key <key>', 'captures of this content')
    .option('--yes', 'do not ask')
    .option('--dry-run', 'only show what would go')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'delete', async (archive) =>
          (await import('./delete.ts')).archiveDelete(context, archive, options),
        ),
      ),
    );

  archiveCommand(program, 'compact', 'take the bytes of what was deleted out of the segments')
    .addOption(new Option('--recompress <coding>', 'also pack segments anew, with a dictionary').choices(['zstd']))
    .option('--dry-run', 'only say what there is to do')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'compact', async (archive) =>
          (await import('./compact.ts')).archiveCompact(context, archive, options),
        ),
      ),
    );

  archiveCommand(program, 'verify', 'look for what is wrong; ends with 1 when there are errors')
    .addOption(new Option('--quick', 'structure and catalog, without hashing payloads').conflicts('full'))
    .option('--full', 'hash every payload too (the default)')
    .option('--known <file>', 'errors that this earlier --json report tells of do not make it end with 1')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'verify', async (archive) =>
          (await import('./verify.ts')).archiveVerify(context, archive, options),
        ),
      ),
    );

  archiveCommand(program, 'rebuild', 'make the catalog again from the segments').action(async (options) =>
    ends(await (await import('./rebuild.ts')).archiveRebuild(context, options)),
  );

  registerOutputs(program, context, ends);
  registerVolumes(program.command('volume').description('where the segments lie'), context, ends);
}

function registerOutputs(program: Command, context: CommandContext, ends: (code: number) => void): void {
  addSelection(archiveCommand(program, 'export', 'write a slice of the archive to a file'))
    .argument('[file]', 'what to write; its name tells the format. Without it, CDXJ lines on standard output')
    .option('--key <key>', 'captures of this content')
    .addOption(choiceOption('--format <format>', 'of the file', ['warc', 'wacz', 'cdxj', 'cdx11', 'cdx9', 'parquet']))
    .option('--self-contained', 'make revisits full records, so that the file stands alone')
    .option('--compute-sha1', 'with cdx11 and cdx9: read contents whose records declare no SHA-1')
    .option('--captures-only', 'leave requests and metadata records out')
    .option('--odd', 'put in odd records that cannot be written anew, though other tools stop at them')
    .option('--title <title>', 'what the file is called in itself (default: the name of the archive)')
    .option('--force', 'replace a file that exists')
    .action(async (file, options) =>
      ends(
        await withArchive(context, options, 'export', async (archive) =>
          (await import('./export.ts')).archiveExport(context, archive, file, options),
        ),
      ),
    );

  addSelection(archiveCommand(program, 'stream', 'write records to standard output, each exactly once, restartable'))
    .addOption(choiceOption('--format <format>', 'jsonl: a line about each record', ['warc', 'jsonl'], 'warc'))
    .addOption(
      choiceOption(
        '--order <order>',
        'all records in the order of storage, fast; or captures only, in another',
        ['storage', 'url', 'time', 'inlinks', 'rank'],
        'storage',
      ),
    )
    .option('--text', 'JSON lines: with title, language, headings and text of pages')
    .option('--links', 'JSON lines: with title, language, headings and links of pages')
    .option('--type <types>', 'only records of these types, with commas between them')
    .option('--key <key>', 'captures of this content, in another order than that of storage')
    .option('--out <file>', 'write to a file instead')
    .option('--force', 'replace a file that exists')
    .option('--cursor <cursor>', 'go on behind the record that this cursor names')
    .option('--cursor-file <file>', 'keep the cursor here; run again, the stream goes on where it was')
    .action(async (options) =>
      ends(
        await withArchive(context, options, 'stream', async (archive) =>
          (await import('./stream.ts')).archiveStream(context, archive, options),
        ),
      ),
    );

  archiveCommand(program, 'stats', 'what the archive holds, takes and saves').action(async (options) =>
    ends(
      await withArchive(context, options, 'stats', async (archive) =>
        (await import('./stats.ts')).archiveStats(context, archive, options),
      ),
    ),
  );
}

function registerVolumes(volume: Command, context: CommandContext, ends: (code: number) => void): void {
  archiveCommand(volume, 'ls', 'list the volumes').action(async (options) =>
    ends(
      await withArchive(context, options, 'volume ls', async (archive) =>
        (await import('./volume.ts')).volumeLs(context, archive, options),
      ),
    ),
  );

  archiveCommand(volume, 'add', 'add a directory as a volume; segments that lie in it become part of the archive')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .argument('<path>', 'the directory')
    .option('--create', 'make the directory when it does not exist, without asking')
    .option('--read-only', 'never write to it')
    .action(async (name, path, options) =>
      ends(
        await withArchive(context, options, 'volume add', async (archive) =>
          (await import('./volume.ts')).volumeAdd(context, archive, name, path, options),
        ),
      ),
    );

  archiveCommand(volume, 'set', 'make a volume read-only or writable')
    .argument('<name>')
    .argument('<state>', 'read-only or writable')
    .action(async (name, state, options) =>
      ends(
        await withArchive(context, options, 'volume set', async (archive) =>
          (await import('./volume.ts')).volumeSet(context, archive, name, state, options),
        ),
      ),
    );

  archiveCommand(volume, 'remove', 'take an empty volume out of the archive; its directory stays')
    .argument('<name>')
    .action(async (name, options) =>
      ends(
        await withArchive(context, options, 'volume remove', async (archive) =>
          (await import('./volume.ts')).volumeRemove(context, archive, name, options),
        ),
      ),
    );

  archiveCommand(volume, 'migrate', 'move all segments of a volume to another')
    .argument('<from>')
    .argument('<to>')
    .option('--dry-run', 'only say what would be moved, and what room there is')
    .action(async (from, to, options) =>
      ends(
        await withArchive(context, options, 'volume migrate', async (archive) =>
          (await import('./volume.ts')).volumeMigrate(context, archive, from, to, options),
        ),
      ),
    );
}
