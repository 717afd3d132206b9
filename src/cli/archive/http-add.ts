/** `pinakes add` for an archive that another machine serves: files are read here, and only what it lacks is sent. */
import { stat } from 'node:fs/promises';
import {
  badArgument,
  limitHeapGrowth,
  limitYoungSpace,
  PinakesError,
  SMALL_YOUNG_BYTES_MAX,
} from '../../base/index.ts';
import type { ContentsClient, RecordsReport } from '../../client/index.ts';
import { inputFiles, notArchiveFile, readFileStart, scanFiles, warcFinding } from '../../warc/index.ts';
import { type CommandContext, resolveTypedPath } from '../command.ts';
import { FindingTally } from '../finding-tally.ts';
import { httpError } from '../http-archive.ts';
import { EXIT_FINE, EXIT_FOUND, printFailures } from '../outcome.ts';
import { Progress } from '../progress.ts';
import { counted, formatBytes } from '../terminal.ts';
import type { AddCommandOptions } from './add.ts';
import { IDENTITY_FIELD, RecordSender, type SendOptions, sendWholeFile, WholeFileNeeded } from './record-sender.ts';

const WORKERS = 2;
const FEW_BYTES = 8 * 1024 * 1024;

type Counts = Record<string, number>;

export async function httpAdd(
  context: CommandContext,
  client: ContentsClient,
  paths: readonly string[],
  options: AddCommandOptions,
): Promise<number> {
  const { terminal, signal } = context;
  for (const name of ['inPlace', 'again', 'volume', 'endpoint', 'region', 'insecure'] as const)
    if (options[name])
      throw badArgument(`--${name === 'inPlace' ? 'in-place' : name}`, 'not for an archive that a server holds');
  limitHeapGrowth();
  limitYoungSpace(SMALL_YOUNG_BYTES_MAX);
  const { files, failures, bytes } = await inputFiles(
    paths.map((path) => resolveTypedPath(context, path)),
    { signal },
  );
  const progress = new Progress(terminal, 'add', bytes);
  const findings = new FindingTally(terminal);
  const counts: Counts = { files: 0, filesKnown: 0, captures: 0, capturesKnown: 0 };
  let sentBytes = 0;
  for (const { path, bytes: fileBytes } of files) {
    const file: Counts = {};
    try {
      await sendFile(path, findings, signal, {
        client,
        path,
        coding: 'gzip',
        extension: extensionOf(path),
        collection: options.collection,
        onReport: (report) => addUp(file, report),
        onSent: (sent) => {
          sentBytes += sent;
        },
      });
      counts.files!++;
      if (isKnown(file)) counts.filesKnown!++;
    } catch (error) {
      const failure = error instanceof PinakesError ? error : httpError(error, options.archive);
      if (!(failure instanceof PinakesError)) throw error;
      // Without the server or its permission the other files fail too.
      if (failure.code !== 'REMOTE_REFUSED' && failure.code.startsWith('REMOTE')) throw failure;
      failures.push(failure);
    }
    const { filesKnown: _, ...added } = file;
    addUp(counts, added);
    progress.advance(fileBytes, path);
  }
  progress.end();
  findings.end();
  const { errors, warnings } = findings;
  if (options.json)
    await terminal.json({
      ...counts,
      errors,
      warnings,
      inputBytes: bytes,
      sentBytes,
      failures: failures.map(({ code, where, message, advice }) => ({ code, where, message, advice })),
    });
  else {
    const known = counts.filesKnown! > 0 ? `, ${counts.filesKnown} of them added before` : '';
    const more = counts.capturesKnown! > 0 ? `, ${counts.capturesKnown} already in the archive` : '';
    await terminal.line(
      `${counted(counts.files!, 'file')}${known}: ${counted(counts.captures!, 'new capture')}${more}`,
    );
    await terminal.line(`${formatBytes(bytes)} read, ${formatBytes(sentBytes)} sent before compression`);
    if (errors > 0)
      await terminal.line(`${counted(errors, 'error')} in the files, listed above; what can be read was sent`);
  }
  return printFailures(terminal, failures, errors > 0 ? EXIT_FOUND : EXIT_FINE);
}

async function sendFile(
  path: string,
  findings: FindingTally,
  signal: AbortSignal,
  options: SendOptions,
): Promise<void> {
  if (/\.wacz$/i.test(path)) return sendWholeFile(options);
  const { coding } = readFileStart(path);
  // The members of a zstd file may need a dictionary, which is at its beginning.
  if (coding === 'zstd') return sendWholeFile(options);
  const sender = new RecordSender({ ...options, coding, extension: coding === 'gzip' ? '.warc.gz' : '.warc' });
  const { size } = await stat(path);
  const scan = scanFiles([path], {
    workers: size < FEW_BYTES ? 0 : WORKERS,
    fields: [IDENTITY_FIELD],
    judgesDigests: true,
    signal,
  });
  let isGarbage = false;
  try {
    for await (const item of scan) {
      if (item.kind === 'file-failed') throw item.error;
      if (item.kind === 'file-end') {
        if (item.records === 0 && isGarbage) throw notArchiveFile(path);
        if (item.isEmpty) findings.add(warcFinding('file-empty', path, 0));
        continue;
      }
      for (const finding of item.batch.findings) {
        isGarbage ||= finding.code === 'garbage-skipped';
        findings.add(finding);
      }
      await sender.take(item.batch);
    }
    await sender.end();
  } catch (error) {
    if (!(error instanceof WholeFileNeeded)) throw error;
    await sendWholeFile(options);
  }
}

/** Whether the server had every batch of a file. */
function isKnown({ filesKnown = 0, records = 0 }: Counts): boolean {
  return filesKnown > 0 && records === 0;
}

function addUp(counts: Counts, report: RecordsReport): void {
  for (const [name, count] of Object.entries(report))
    counts[name] = name === 'deletedSince' ? Math.max(counts[name] ?? 0, count) : (counts[name] ?? 0) + count;
}

function extensionOf(path: string): string {
  const [extension] = /\.(?:(?:warc|arc)(?:\.gz|\.zst)?|wacz)$/i.exec(path.replace(/\.open$/i, '')) ?? [];
  const lower = extension?.toLowerCase() ?? '.warc.gz';
  return lower === '.arc.zst' ? '.warc.zst' : lower;
}
