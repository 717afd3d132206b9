/** Jobs of the kind `export`: a slice of the archive as a file that can be downloaded. */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { Type } from 'typebox';
import { formatOutputDamage, type OutputDamage, type Selection } from '../../archive/index.ts';
import { type Clock, fileError, formatTimestamp, type IdSource } from '../../base/index.ts';
import { CDX_11, cdxLineFormatter, formatCdxHeader, formatCdxjLine } from '../../warc/index.ts';
import { selectionOf } from '../asked-selection.ts';
import { closed, Selection as SelectionShape } from '../shape.ts';
import { type ExportStore, hrefOf } from './export-store.ts';
import type { JobContext, JobKind } from './job-kind.ts';
import { kindOfJob } from './kind-of-job.ts';

const LINES_AT_ONCE = 4096;
/** So many that nobody guesses them. */
const SECRET_LETTERS = 16;
const CDX_HEAD = formatCdxHeader(CDX_11) ?? '';

const ExportInput = closed({
  selection: Type.Optional(SelectionShape),
  format: Type.Enum(['warc.gz', 'warc.zst', 'warc', 'wacz', 'cdxj', 'cdx', 'parquet']),
  selfContained: Type.Optional(
    Type.Boolean({
      description:
        'Make revisits full records, so that the file stands alone. Only WARC and WACZ; a WACZ does unless told otherwise.',
    }),
  ),
  capturesOnly: Type.Optional(Type.Boolean({ description: 'Leave requests and metadata records out.' })),
  odd: Type.Optional(
    Type.Boolean({ description: 'Put in odd records that cannot be written anew, though other tools stop at them.' }),
  ),
  title: Type.Optional(Type.String({ maxLength: 300 })),
});

export type ExportParts = { readonly software: string; readonly clock: Clock; readonly newId: IdSource };

export function exportKind(store: ExportStore, { software, clock, newId }: ExportParts): JobKind {
  return kindOfJob({
    name: 'export',
    lane: 'export',
    input: ExportInput,
    run: async (context, input) => {
      const { archive, jobId, signal } = context;
      const selection = selectionOf(archive, input.selection ?? {});
      const stem = archive.connector.name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'archive';
      const file = `${stem.slice(0, 80)}-${formatTimestamp(clock())}.${input.format}`;
      // Its address is for whom the report tells it: the file may hold what is deleted later.
      const secret = newId()
        .replace(/[^0-9a-f]/g, '')
        .slice(-SECRET_LETTERS);
      const path = await store.place(jobId, `${secret}-${file}`);
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
        await store.keep(path);
        return { file, format: input.format, href: hrefOf(jobId, basename(path)), ...report };
      } catch (error) {
        await store.remove(jobId);
        throw error;
      }
    },
  });
}

type WriteOptions = {
  readonly software: string;
  readonly title: string;
  readonly selfContained: boolean;
  readonly concurrentRecords: boolean;
  readonly odd: boolean;
  readonly signal: AbortSignal;
  readonly onDamage: (damage: OutputDamage) => void;
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
  try {
    const handle = await open(path, 'wx');
    try {
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
    } finally {
      await handle.close();
    }
  } catch (cause) {
    throw fileError(cause, path, 'writing');
  }
}
