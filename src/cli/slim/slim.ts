/**
 * `pinakes slim`: the commands that deduplicate collections outside an archive, with their options. What they do is
 * loaded when one is asked for.
 */
import type { Command, Option } from 'commander';
import { DIGEST_ALGORITHMS } from '../../base/index.ts';
import { type CommandContext, choiceOption } from '../command.ts';

/** Adds the commands; `ends` takes the exit code of the one that runs. */
export function registerSlim(program: Command, context: CommandContext, ends: (code: number) => void): void {
  const slim = program
    .command('slim')
    .description('keep every content of a collection of WARC and ARC files once, on the files where they lie');

  slim
    .command('assess')
    .description('how much duplication there is, and what slimming would save; reads only')
    .argument('<paths...>', 'files, or directories with WARC and ARC files below them')
    .option('--sample <share>', 'read only a part of the files, like 10%', '100%')
    .addOption(algorithmOption())
    .option('--workers <number>', 'threads')
    .option('--work <directory>', 'where to put what does not fit into memory (default: the temporary directory)')
    .option('--json', 'one JSON object')
    .action(async (paths, options) =>
      ends(await (await import('./assess.ts')).slimAssessCommand(context, paths, options)),
    );

  rewriting(
    slim
      .command('run')
      .description(
        'do it: scan, choose originals, put revisits in the place of duplicates; goes on where it was interrupted',
      )
      .argument('<paths...>', 'all files of the collection, or directories with them below'),
  )
    .addOption(algorithmOption())
    .addOption(verifyOption())
    .action(async (paths, options) => ends(await (await import('./run.ts')).slimRunCommand(context, paths, options)));

  slim
    .command('undo')
    .description('put back the old files that the last run kept with --keep-originals')
    .argument('[paths...]', 'the paths of the run')
    .option('--work <directory>', 'the directory of the run, if it was given one')
    .option('--dry-run', 'only say what would be put back')
    .option('--json', 'one JSON object')
    .action(async (paths, options) => ends(await (await import('./run.ts')).slimUndoCommand(context, paths, options)));

  slim
    .command('sum')
    .description('write the hash manifest of files')
    .argument('<paths...>', 'files, or directories with WARC and ARC files below them')
    .requiredOption('--out <file>', 'the manifest')
    .addOption(formatOption())
    .addOption(algorithmOption())
    .option('--trust-headers', 'take the digests that records declare, where they do')
    .addOption(
      choiceOption(
        '--empty <what>',
        'records with an empty payload, which are never duplicates',
        ['skip', 'keep'],
        'keep',
      ),
    )
    .option('--workers <number>', 'threads')
    .option('--force', 'replace a file that exists')
    .option('--json', 'one JSON object')
    .action(async (paths, options) =>
      ends(await (await import('./manifest.ts')).slimSumCommand(context, paths, options)),
    );

  slim
    .command('split')
    .description('part manifests by digest, so that the parts can be resolved on different machines')
    .argument('<parts>', 'how many')
    .argument('<manifests...>')
    .requiredOption('--out <directory>', 'where the parts go')
    .addOption(formatOption())
    .option('--force', 'replace parts that exist')
    .option('--json', 'one JSON object a part')
    .action(async (parts, manifests, options) =>
      ends(await (await import('./manifest.ts')).slimSplitCommand(context, parts, manifests, options)),
    );

  slim
    .command('resolve')
    .description('choose originals in manifests, and tell contents apart that share a digest')
    .argument('<manifests...>')
    .requiredOption('--out <file>', 'the resolved manifest')
    .addOption(formatOption())
    .addOption(verifyOption())
    .option('--workers <number>', 'threads')
    .option('--force', 'replace a file that exists')
    .option('--json', 'one JSON object')
    .action(async (manifests, options) =>
      ends(await (await import('./manifest.ts')).slimResolveCommand(context, manifests, options)),
    );

  rewriting(
    slim
      .command('refs')
      .description('put revisits in the place of the duplicates that resolved manifests name')
      .argument('<paths...>', 'files, or directories with WARC and ARC files below them'),
  )
    .requiredOption('--manifest <files...>', 'resolved manifests')
    .option('--trust-manifest', 'take originals that are out of reach as the manifests describe them')
    .action(async (paths, options) => ends(await (await import('./run.ts')).slimRefsCommand(context, paths, options)));

  slim
    .command('compare')
    .description('what changed between two manifests; ends with 1 when captures differ')
    .argument('<before>', 'a manifest')
    .argument('<after>', 'a manifest')
    .option('--work <directory>', 'where to put what does not fit into memory (default: the temporary directory)')
    .option('--json', 'one JSON object a difference, and a summary')
    .action(async (before, after, options) =>
      ends(await (await import('./manifest.ts')).slimCompareCommand(context, before, after, options)),
    );
}

function algorithmOption(): Option {
  return choiceOption('--algorithm <name>', 'what payloads are hashed with', DIGEST_ALGORITHMS, 'sha256');
}

function verifyOption(): Option {
  const description =
    'how contents are told to be the same (default: bytes for md5 and sha1, digest for sha256 and sha512)';
  return choiceOption('--verify <how>', description, ['bytes', 'digest']);
}

function formatOption(): Option {
  return choiceOption('--format <format>', 'of manifests that are written', ['parquet', 'warcsum'], 'parquet');
}

/** The options of the commands that rewrite files. */
function rewriting(command: Command): Command {
  return command
    .option('--in-place', 'rewrite the files where they lie')
    .option('--to <directory>', 'write the slimmed collection there; ARC files become WARC files')
    .option('--keep-originals <directory>', 'with --in-place: keep the old files there, for undo')
    .option('--min-saving <bytes>', 'a duplicate stays when its revisit would not take so much less of its file', '0')
    .option('--work <directory>', 'where the journal goes (default: .pinakes-slim beside the files, or in the target)')
    .option('--workers <number>', 'threads')
    .option('--dry-run', 'find out what would be done, and change nothing')
    .option('--json', 'findings as JSON objects, and a summary');
}
