/** Jobs of the kind `export`: a part of the archive as a file for download. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Type } from 'typebox';
import { formatOutputDamage, type Selection, type WarcExportOptions } from '../../archive/index.ts';
import { formatTimestamp, writingFile } from '../../base/index.ts';
import { CDX_11, cdxLineFormatter, formatCdxHeader, formatCdxjLine } from '../../warc/index.ts';
import { closed, SelectionInput } from '../schema.ts';
import { selectionOf } from '../selection-input.ts';
import { type ExportStore, exportHref } from './export-store.ts';
import { defineJobKind, type JobContext, type JobKind } from './job-kind.ts';

const LINES_AT_ONCE = 4096;
/** With this many letters, the address of a file cannot be guessed. */
const SECRET_LETTERS = 16;
const CDX_HEAD = formatCdxHeader(CDX_11) ?? '';

const ExportInput = closed({
  selection: Type.Optional(SelectionInput),
  format: Type.Enum(['warc.gz', 'warc.zst', 'warc', 'wacz', 'cdxj', 'cdx', 'parquet']),
  selfContained: Type.Optional(
    Type.Boolean({
      description:
        'Write revisits as full records, so that the file is complete by itself. For WARC and WACZ; the default for WACZ.',
    }),
  ),
  capturesOnly: Type.Optional(Type.Boolean({ description: 'Leave out request and metadata records.' })),
  odd: Type.Optional(
    Type.Boolean({ description: 'Include odd records that cannot be rewritten, although other tools stop at them.' }),
  ),
  title: Type.Optional(Type.String({ maxLength: 300 })),
});

/** `software` is written into the files as the program that made them. */
export function exportKind(store: ExportStore, software: string): JobKind {
  return defineJobKind({
    name: 'export',
    lane: 'export',
    // The file is made anew on the other server.
    isResumable: () => true,
    input: ExportInput,
    run: async (context, input) => {
      const { archive, jobId, signal } = context;
      const selection = await selectionOf(archive, input.selection ?? {});
      const stem = archive.connector.name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'archive';
      const file = `${stem.slice(0, 80)}-${formatTimestamp(archive.clock())}.${input.format}`;
      // Only readers of the report may know the address: the file can contain captures that are deleted later.
      const secret = archive
        .newId()
        .replace(/[^0-9a-f]/g, '')
        .slice(-SECRET_LETTERS);
      const path = await store.createPath(jobId, `${secret}-${file}`);
      try {
        const report = await write(context, input.format, selection, path, {
          software,
          title: input.title ?? archive.connector.name,
          selfContained: input.selfContained ?? input.format === 'wacz',
          concurrentRecords: input.capturesOnly !== true,
          odd: input.odd === true,
          signal,
          onDamage: (damage) => context.say(formatOutputDamage(damage)),
          onProgress: ({ captures, bytes }) =>
            context.progress({ done: captures, unit: 'captures', ...(bytes !== undefined && { detail: { bytes } }) }),
        });
        await store.finish(path);
        return { file, format: input.format, href: exportHref(jobId, basename(path)), ...report };
      } catch (error) {
        await store.remove(jobId);
        throw error;
      }
    },
  });
}

type WriteOptions = Omit<WarcExportOptions, 'signal' | 'onProgress'> & {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { captures: number; bytes?: number }) => void;
};

async function write(
  { archive }: JobContext,
  format: string,
  selection: Selection,
  path: string,
  options: WriteOptions,
): Promise<object> {
  if (format === 'wacz') return archive.exportWacz(selection, path, options);
  if (format === 'parquet') return archive.exportParquet(selection, path, options);
  if (format.startsWith('warc')) return archive.exportWarc(selection, path, options);
  const isCdx = format === 'cdx';
  const lines = isCdx
    ? archive.exportCdxj(selection, cdxLineFormatter(CDX_11, { onlySha1: true }), { digests: 'declared-sha1' })
    : archive.exportCdxj(selection, formatCdxjLine);
  return writeLines(path, isCdx ? [CDX_HEAD] : [], lines, options);
}

async function writeLines(
  path: string,
  head: readonly string[],
  lines: AsyncIterable<string>,
  { signal, onProgress }: WriteOptions,
): Promise<{ captures: number; bytes: number }> {
  return writingFile(path, async () => {
    await using handle = await open(path, 'wx');
    let captures = 0;
    let bytes = 0;
    let batch = head.map((line) => `${line}\n`);
    const flush = async () => {
      const text = Buffer.from(batch.join(''));
      batch = [];
      await handle.appendFile(text);
      bytes += text.length;
      onProgress({ captures, bytes });
    };
    for await (const line of lines) {
      signal.throwIfAborted();
      captures++;
      if (batch.push(`${line}\n`) >= LINES_AT_ONCE) await flush();
    }
    await flush();
    await handle.sync();
    return { captures, bytes };
  });
}
