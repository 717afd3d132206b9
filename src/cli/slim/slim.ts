/**
 * `pinakes slim`: the commands that deduplicate collections outside an archive, with their options. The code of a
 * command is loaded when the command runs.
 */
import type { Command, Option } from 'commander';
import { DIGEST_ALGORITHMS } from '../../base/index.ts';
import { type CommandContext, choiceOption, commandAction } from '../command.ts';

const WORKERS = 'the number of threads (default: one per processor)';

/** Adds the commands; `setExitCode` is called with the exit code of the command that runs. */
export function registerSlim(program: Command, context: CommandContext, setExitCode: (code: number) => void): void {
  const run = commandAction(context, setExitCode);
  const slim = program.command('slim').description('deduplicate a collection of WARC and ARC files without an archive');

  slim
    .command('assess')
    .description('show how much duplication there is, and what slimming would save; changes nothing')
    .argument('<paths...>', 'files, or directories that contain WARC and ARC files')
    .option('--sample <share>', 'read only a part of the files, such as 10%', '100%')
    .addOption(algorithmOption())
    .option('--workers <number>', WORKERS)
    .option('--work <directory>', 'the directory for temporary files (default: the temporary directory of the system)')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./assess.ts')).slimAssessCommand));

  rewriting(
    slim
      .command('run')
      .description('deduplicate: scan, choose originals, replace duplicates by revisits; continues an interrupted run')
      .argument('<paths...>', 'all files of the collection, or directories that contain them'),
  )
    .addOption(algorithmOption())
    .addOption(verifyOption())
    .action(run(async () => (await import('./run.ts')).slimRunCommand));

  slim
    .command('undo')
    .description('restore the old files that the last run kept with --keep-originals')
    .argument('[paths...]', 'the paths that the run was given')
    .option('--work <directory>', 'the --work directory of the run, if it had one')
    .option('--dry-run', 'only show what would be restored')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./run.ts')).slimUndoCommand));

  slim
    .command('sum')
    .description('write the manifest of files: one row with the digest of each record')
    .argument('<paths...>', 'files, or directories that contain WARC and ARC files')
    .requiredOption('--out <file>', 'the manifest to write')
    .addOption(formatOption())
    .addOption(algorithmOption())
    .option('--trust-headers', 'use the digests that records declare, instead of computing them')
    .addOption(
      choiceOption(
        '--empty <what>',
        'skip or keep records with an empty payload, which are never duplicates',
        ['skip', 'keep'],
        'keep',
      ),
    )
    .option('--workers <number>', WORKERS)
    .option('--force', 'replace an existing file')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./manifest.ts')).slimSumCommand));

  slim
    .command('split')
    .description('split manifests by digest, so that the parts can be resolved on different machines')
    .argument('<parts>', 'the number of parts')
    .argument('<manifests...>', 'the manifests to split')
    .requiredOption('--out <directory>', 'the directory to write the parts to')
    .addOption(formatOption())
    .option('--force', 'replace existing parts')
    .option('--json', 'print one JSON object per part')
    .action(run(async () => (await import('./manifest.ts')).slimSplitCommand));

  slim
    .command('resolve')
    .description('choose the original of every duplicate in manifests, and detect digest collisions')
    .argument('<manifests...>', 'the manifests to resolve')
    .requiredOption('--out <file>', 'the resolved manifest to write')
    .addOption(formatOption())
    .addOption(verifyOption())
    .option('--workers <number>', WORKERS)
    .option('--force', 'replace an existing file')
    .option('--json', 'print one JSON object')
    .action(run(async () => (await import('./manifest.ts')).slimResolveCommand));

  rewriting(
    slim
      .command('refs')
      .description('replace the duplicates that resolved manifests list by revisits')
      .argument('<paths...>', 'files, or directories that contain WARC and ARC files'),
  )
    .requiredOption('--manifest <files...>', 'the resolved manifests')
    .option('--trust-manifest', 'trust the manifests about originals that are not on this machine')
    .action(run(async () => (await import('./run.ts')).slimRefsCommand));

  slim
    .command('compare')
    .description('show what differs between two manifests; exits with 1 when captures differ')
    .argument('<before>', 'the manifest from before')
    .argument('<after>', 'the manifest from after')
    .option('--work <directory>', 'the directory for temporary files (default: the temporary directory of the system)')
    .option('--json', 'print one JSON object per difference, and a summary')
    .action(run(async () => (await import('./manifest.ts')).slimCompareCommand));

  slim
    .command('sync')
    .description('replace the files of a second copy by the slimmed ones, after both were compared')
    .argument('<slimmed>', 'the directory of the slimmed collection')
    .argument('<second>', 'the directory of its second copy')
    .option('--work <directory>', 'the directory for temporary files (default: .pinakes-slim in the second copy)')
    .option('--workers <number>', WORKERS)
    .option('--dry-run', 'only show what would be done')
    .option('--json', 'print findings and differences as JSON objects, and a summary')
    .action(run(async () => (await import('./sync.ts')).slimSyncCommand));
}

function algorithmOption(): Option {
  return choiceOption('--algorithm <name>', 'the hash algorithm for payloads', DIGEST_ALGORITHMS, 'sha256');
}

function verifyOption(): Option {
  const description =
    'compare contents by bytes or by digest (default: bytes for md5 and sha1, digest for sha256 and sha512)';
  return choiceOption('--verify <how>', description, ['bytes', 'digest']);
}

function formatOption(): Option {
  return choiceOption('--format <format>', 'the format of the manifests to write', ['parquet', 'warcsum'], 'parquet');
}

/** The options of the commands that rewrite files. */
function rewriting(command: Command): Command {
  return command
    .option('--in-place', 'rewrite the files where they are')
    .option('--to <directory>', 'write the slimmed collection to this directory; ARC files become WARC files')
    .option('--keep-originals <directory>', 'with --in-place: keep the old files in this directory, for undo')
    .option('--min-saving <bytes>', 'replace a duplicate only when it saves more than this many bytes in its file', '0')
    .option(
      '--work <directory>',
      'the directory of the journal (default: .pinakes-slim beside the files, or in the target)',
    )
    .option('--workers <number>', WORKERS)
    .option('--dry-run', 'only show what would be done')
    .option('--json', 'print findings as JSON objects, and a summary');
}
