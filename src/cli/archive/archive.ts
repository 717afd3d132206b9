/**
 * The commands on an archive, with their arguments and options. The code of each command is in a file of its own, which
 * is loaded when the command runs.
 */
import { type Command, Option } from 'commander';
import { archiveAction, archiveCommand, bytesCommand, withTokenFile } from '../archive-command.ts';
import { type CommandContext, choiceOption, commandAction } from '../command.ts';

const PARTS = ['headers', 'payload', 'raw', 'json'];

/** An option that prints one part of a capture, and so excludes the others. */
function partOption(part: string, description: string): Option {
  return new Option(`--${part}`, description).conflicts(PARTS.filter((other) => other !== part));
}

/** The options that select captures. */
function addSelection(command: Command): Command {
  return command
    .option('--collection <name>', 'only captures of this collection')
    .option('--url <url>', 'only captures of this URL')
    .option(
      '--prefix <url>',
      'only captures whose URL starts with this; *.example.org selects a domain and its subdomains',
    )
    .option('--from <time>', 'only captures of this time or later')
    .option('--to <time>', 'only captures of this time or earlier')
    .option('--mime <type>', 'only captures of this media type: text/html, or image/* for all images')
    .option('--status <status>', 'only captures with this HTTP status: 404, or 4xx for 400 to 499')
    .option(
      '--query <query>',
      "only captures that match all conditions: 'status:200 type:text/html site:.edu size>1000'",
    );
}

export function registerArchive(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const runInArchive = archiveAction(context, setExitCode);
  program.hook('preAction', (_, action) => {
    if (action.getOptionValueSource('archive') === 'cli') context.terminal.namedArchive = action.opts().archive;
  });

  archiveCommand(program, 'init', 'create an archive')
    .argument('[directory]', 'the directory to create it in (default: the one that --archive names)')
    .option('--name <name>', 'the name of the archive (default: the name of its directory)')
    .addOption(
      new Option('--catalog <address>', 'of a cluster: postgresql://host/database, where its machines meet').env(
        'PINAKES_CATALOG',
      ),
    )
    .action(run(async () => (await import('./init.ts')).archiveInit));

  withTokenFile(archiveCommand(program, 'add', 'add WARC, ARC and WACZ files; every content is stored once'))
    .argument(
      '<paths...>',
      'files, or directories that contain WARC, ARC and WACZ files; with --in-place also https://host/file.warc.gz and s3://bucket/prefix/',
    )
    .option('--collection <name>', 'the collection to add the captures to', 'default')
    .option('--in-place', 'use the files where they are: nothing is copied, and the files must stay unchanged')
    .addOption(
      new Option(
        '--again',
        'read files that were added before again, and take in captures of them that were deleted (not with --in-place)',
      ).conflicts('inPlace'),
    )
    .option('--volume <name>', 'the volume to copy to (default: spread over all volumes by free space)')
    .option('--endpoint <url>', 'with s3://: the address of the S3 server, unless it is that of AWS')
    .option('--region <name>', 'with s3://: the region of the bucket')
    .option('--insecure', 'with --in-place: allow http:// also for other machines')
    .action(
      runInArchive(
        'add',
        async () => (await import('./add.ts')).archiveAdd,
        async () => (await import('./http-add.ts')).httpAdd,
      ),
    );

  archiveCommand(
    program,
    'get',
    'print a captured page; its body, as a browser would show it, unless an option says otherwise',
  )
    .argument('[url]', 'the URL of the page; or give --page-id')
    .option('--page-id <hex>', 'the page with this id: 16 hexadecimal digits')
    .option('--at <time>', 'the capture nearest to this time (default: the latest)')
    .addOption(partOption('headers', 'print the headers of the record and of the HTTP message instead of the body'))
    .addOption(partOption('payload', 'print the body as captured, with its content coding'))
    .addOption(partOption('raw', 'print the record as stored in its segment, still compressed'))
    .action(runInArchive('get', async () => (await import('./get.ts')).archiveGet));

  withTokenFile(archiveCommand(program, 'put', 'store the content of a file and print its content key'))
    .argument('<file>', 'the file; - for standard input')
    .option('--collection <name>', 'the collection to store it in', 'default')
    .option('--mime <type>', 'the media type of the content')
    .addOption(
      choiceOption(
        '--mode <mode>',
        'how to find out whether the content is already stored',
        ['regular', 'compare', 'force-new'],
        'regular',
      ),
    )
    .option('--volume <name>', 'the volume to write to (default: spread over all volumes by free space)')
    .action(
      runInArchive(
        'put',
        async () => (await import('./put.ts')).archivePut,
        async () => (await import('./http-put.ts')).httpPut,
      ),
    );

  withTokenFile(bytesCommand(program, 'cat', 'print the content that has a key'))
    .argument('<key>', 'a content key, as `put` and `get --json` print it')
    .action(
      runInArchive(
        'cat',
        async () => (await import('./put.ts')).archiveCat,
        async () => (await import('./http-put.ts')).httpCat,
      ),
    );

  addSelection(archiveCommand(program, 'delete', 'delete captures; lists them and asks first'))
    .option('--key <key>', 'give back one reference of this content; with --all, or other conditions, all of it')
    .option('--all', 'with --key: every capture of the content')
    .option('--capture <id>', 'only the capture with this id')
    .option('--takedown', 'also bar the URL and its contents, or the content, for good; needs --reason')
    .option('--reason <text>', 'with --takedown: why, for the log of takedowns')
    .option('--by <name>', 'with --takedown: who decided it (default: your user name)')
    .option('--yes', 'delete without asking')
    .option('--dry-run', 'only show what would be deleted')
    .action(runInArchive('delete', async () => (await import('./delete.ts')).archiveDelete));

  archiveCommand(program, 'takedown', 'bar contents and URLs for good, and delete their captures; asks first')
    .option('--key <key...>', 'bar the contents with these keys')
    .option('--url <url...>', 'bar these URLs')
    .option('--with-contents', 'also bar the contents that the URLs have, under every URL')
    .option('--reason <text>', 'why, for the log of takedowns; needed')
    .option('--by <name>', 'who decided it (default: your user name)')
    .option('--list', 'show what is barred, and whether the bytes are gone; exits with 1 while they are not')
    .option('--yes', 'take down without asking')
    .option('--dry-run', 'only show what would be done')
    .action(runInArchive('takedown', async () => (await import('./takedown.ts')).archiveTakedown));

  archiveCommand(program, 'takedowns', 'list the takedowns; search for their bytes; print a receipt')
    .addOption(
      new Option(
        '--check [number]',
        'read every file for bytes of this takedown, or of all, and sign the result; exits with 1 unless they are gone',
      ).conflicts('receipt'),
    )
    .option('--also <directory...>', 'with --check: search these directories too, such as those of exports')
    .option('--by <name>', 'with --check: who searches (default: your user name)')
    .option('--receipt <number>', 'print the receipt of a takedown, as a page of HTML')
    .option('--out <file>', 'with --receipt: the file to write')
    .option('--force', 'with --out: replace an existing file')
    .action(runInArchive('takedowns', async () => (await import('./takedowns.ts')).archiveTakedowns));

  archiveCommand(program, 'audit', 'show who did what to the archive, the newest last')
    .option('--since <time>', 'from this time on: 2024, 20240301, 2024-03-01T12:00:00Z')
    .option('--until <time>', 'up to this time')
    .option('--who <name>', 'only of people, tokens or users with this in their name')
    .option('--action <action>', 'only one kind, such as delete, export or sign-in')
    .option('--limit <number>', 'show this many (default: 50, or all with --since)')
    .action(runInArchive('audit', async () => (await import('./audit.ts')).archiveAudit));

  archiveCommand(program, 'compact', 'remove the bytes of deleted captures from the segments')
    .addOption(new Option('--recompress <coding>', 'also compress segments again, with a dictionary').choices(['zstd']))
    .option('--dry-run', 'only show what would be done')
    .action(runInArchive('compact', async () => (await import('./compact.ts')).archiveCompact));

  archiveCommand(program, 'verify', 'check the archive for damage; exits with 1 when there are errors')
    .addOption(new Option('--quick', 'check the structure and the catalog, without hashing payloads').conflicts('full'))
    .option('--full', 'also hash every payload (the default)')
    .option('--heal', 'first restore damaged and lost records from copies and mirrors')
    .option('--dry-run', 'with --heal: only show what would be restored')
    .option('--known <file>', 'do not exit with 1 for errors that are listed in this earlier --json report')
    .action(runInArchive('verify', async () => (await import('./verify.ts')).archiveVerify));

  archiveCommand(program, 'doctor', 'show what the archive has open, what waits in it, and what to do about it').action(
    run(async () => (await import('./doctor.ts')).archiveDoctor),
  );

  archiveCommand(program, 'rebuild', 'build the catalog again from the segments').action(
    run(async () => (await import('./rebuild.ts')).archiveRebuild),
  );

  const catalog = program.command('catalog').description('the database of an archive in a cluster');
  archiveCommand(catalog, 'adopt', 'after a failover or a restore: read from the volumes what the database lacks')
    .option('--nothing-lost', 'trust that the database has all commits, as behind a synchronous standby')
    .action(runInArchive('catalog adopt', async () => (await import('./catalog.ts')).catalogAdopt));
  archiveCommand(catalog, 'copy', 'move an archive that is in a directory into a cluster, with its catalog')
    .requiredOption('--to <address>', 'the database: postgresql://host/database?schema=name')
    .option('--dry-run', 'only show what would be copied, and what stands in the way')
    .action(runInArchive('catalog copy', async () => (await import('./catalog.ts')).catalogCopy));

  archiveCommand(program, 'upgrade', 'make an archive of an earlier Pinakes one that this release can change')
    .option('--dry-run', 'only show what would be done, and what it takes')
    .action(run(async () => (await import('./upgrade.ts')).archiveUpgrade));

  registerOutputs(program, context, setExitCode);
  registerMirrors(
    program.command('mirror').description('keep second copies of the archive, check them, restore from one'),
    context,
    setExitCode,
  );
  archiveCommand(
    program.command('node').description('show what the volumes do at present'),
    'ls',
    'list the volumes: capacity, state, requests under way, rates, last error',
  ).action(archiveAction(context, setExitCode)('node ls', async () => (await import('./node.ts')).nodeLs));
  registerVolumes(
    program.command('volume').description('list and change the volumes, which hold the segments'),
    context,
    setExitCode,
  );
}

function registerMirrors(mirror: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const runInArchive = archiveAction(context, setExitCode);
  archiveCommand(mirror, 'add', 'make an empty directory a second copy of the archive')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .argument('<target>', 'an empty or missing directory on another disk, or s3://bucket/prefix')
    .option('--endpoint <url>', 'the server of the bucket (default: that of AWS)')
    .option('--region <region>', 'the region of the bucket')
    .option('--delay <span>', 'keep states from before deletions restorable for this time, such as 30d (default: 0)')
    .option('--with-linked', 'also copy files that were added in place')
    .option('--every <span>', 'a server syncs it this often, such as 6h')
    .option('--after-jobs', 'a server syncs it after each job')
    .action(runInArchive('mirror add', async () => (await import('./mirror.ts')).mirrorAdd));

  archiveCommand(mirror, 'ls', 'list the mirrors, and how old they are').action(
    runInArchive('mirror ls', async () => (await import('./mirror.ts')).mirrorLs),
  );

  archiveCommand(mirror, 'sync', 'copy what a mirror lacks, and remove what was deleted')
    .argument('[name]', 'the mirror (default: all)')
    .option('--shrink', 'also if the mirror loses more than half of its bytes')
    .action(runInArchive('mirror sync', async () => (await import('./mirror.ts')).mirrorSync));

  archiveCommand(mirror, 'check', 'read every byte of a mirror; exits with 1 when something is damaged or missing')
    .argument('[name]', 'the mirror (default: all)')
    .option('--repair', 'remove what is damaged, so that the next sync copies it again')
    .action(runInArchive('mirror check', async () => (await import('./mirror.ts')).mirrorCheck));

  mirror
    .command('restore')
    .description('make an archive from a mirror alone')
    .argument('<target>', 'the directory of the mirror, or s3://bucket/prefix')
    .argument('<directory>', 'the directory of the new archive, which is empty or missing')
    .option('--endpoint <url>', 'the server of the bucket (default: that of AWS)')
    .option('--region <region>', 'the region of the bucket')
    .option('--until <time>', 'the newest state of this time or earlier')
    .option('--json', 'print JSON, one value per line')
    .action(run(async () => (await import('./mirror.ts')).mirrorRestore));

  archiveCommand(mirror, 'rm', 'forget a mirror; what is in it stays')
    .argument('<name>')
    .action(runInArchive('mirror rm', async () => (await import('./mirror.ts')).mirrorRm));
}

function registerOutputs(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const runInArchive = archiveAction(context, setExitCode);
  addSelection(archiveCommand(program, 'export', 'write selected captures to a file'))
    .argument('[file]', 'the file to write; its name decides the format. Without it, CDXJ lines on standard output')
    .option('--key <key>', 'only captures of this content')
    .addOption(
      choiceOption('--format <format>', 'the format of the file', ['warc', 'wacz', 'cdxj', 'cdx11', 'cdx9', 'parquet']),
    )
    .option('--self-contained', 'turn revisits into full records, so that the file is complete by itself')
    .option('--compute-sha1', 'with cdx11 and cdx9: compute the SHA-1 where a record does not declare it')
    .option('--captures-only', 'leave out request and metadata records')
    .option('--odd', 'include malformed records unchanged, although other tools may stop at them')
    .option('--title <title>', 'the title in the file (default: the name of the archive)')
    .option('--force', 'replace an existing file')
    .action(runInArchive('export', async () => (await import('./export.ts')).archiveExport));

  addSelection(
    archiveCommand(
      program,
      'stream',
      'write records to standard output, each exactly once; can be continued after a stop',
    ),
  )
    .addOption(
      choiceOption('--format <format>', 'WARC records, or jsonl: one JSON line per record', ['warc', 'jsonl'], 'warc'),
    )
    .addOption(
      choiceOption(
        '--order <order>',
        'storage: all records, fast; other orders: only captures',
        ['storage', 'url', 'time', 'inlinks', 'rank'],
        'storage',
      ),
    )
    .option('--text', 'with jsonl: add title, language, headings and text of pages')
    .option('--links', 'with jsonl: add title, language, headings and links of pages')
    .option('--type <types>', 'only records of these types, separated by commas')
    .option('--key <key>', 'only captures of this content; not with the order storage')
    .option('--out <file>', 'write to a file instead of standard output')
    .option('--force', 'replace an existing file')
    .option('--cursor <cursor>', 'continue after the record that this cursor names')
    .option('--cursor-file <file>', 'save the cursor in this file; the same command continues from there')
    .action(runInArchive('stream', async () => (await import('./stream.ts')).archiveStream));

  archiveCommand(program, 'stats', 'show what the archive holds, the space it takes and the space it saves').action(
    runInArchive('stats', async () => (await import('./stats.ts')).archiveStats),
  );
}

function registerVolumes(volume: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const runInArchive = archiveAction(context, setExitCode);
  archiveCommand(volume, 'ls', 'list the volumes of the archive').action(
    runInArchive('volume ls', async () => (await import('./volume.ts')).volumeLs),
  );

  archiveCommand(volume, 'add', 'add a directory or a bucket as a volume; segments in it become part of the archive')
    .argument('<name>', 'lower-case letters, digits and dashes')
    .argument('<path>', 'the directory, or s3://bucket/prefix')
    .option('--endpoint <url>', 'the address of the S3 server, unless it is that of AWS')
    .option('--region <name>', 'the region of the bucket')
    .option('--take', 'take the bucket from the archive that owned it')
    .option('--create', 'create the directory without asking when it does not exist')
    .option('--read-only', 'never write to it')
    .action(runInArchive('volume add', async () => (await import('./volume.ts')).volumeAdd));

  archiveCommand(volume, 'set', 'make a volume read-only or writable')
    .argument('<name>')
    .argument('<state>', 'read-only or writable')
    .action(runInArchive('volume set', async () => (await import('./volume.ts')).volumeSet));

  archiveCommand(volume, 'take', 'take a bucket that another archive owned, and make the catalog again')
    .argument('<name>')
    .option('-y, --yes', 'do not ask')
    .action(runInArchive('volume take', async () => (await import('./volume.ts')).volumeTake));

  archiveCommand(volume, 'remove', 'remove an empty volume from the archive; its directory stays')
    .argument('<name>')
    .action(runInArchive('volume remove', async () => (await import('./volume.ts')).volumeRemove));

  archiveCommand(volume, 'migrate', 'move all segments of a volume to another')
    .argument('<from>')
    .argument('<to>')
    .option('--dry-run', 'only show what would be moved, and the free space')
    .action(runInArchive('volume migrate', async () => (await import('./volume.ts')).volumeMigrate));

  archiveCommand(volume, 'rebalance', 'move records to the volumes that the policy `distribution` chooses for them')
    .option('--dry-run', 'only show what would be moved')
    .action(runInArchive('volume rebalance', async () => (await import('./rebalance.ts')).volumeRebalance));

  archiveCommand(volume, 'copies', 'make the copies of contents that the policy `copies` asks for')
    .option('--dry-run', 'only show what would be copied')
    .action(runInArchive('volume copies', async () => (await import('./copies.ts')).volumeCopies));
}
