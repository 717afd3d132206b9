/**
 * A slice of the archive as a WACZ package: its records in one WARC file, an index of them, and the pages, which are
 * HTML captures with status 200.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileError, formatW3cDate } from '../../base/index.ts';
import { formatCdxjLine, indexEntries, readRecords, writeWacz } from '../../warc/index.ts';
import { captureId } from '../capture-id.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { type Selection, selectCaptures } from '../selection.ts';
import { exportWarc, type WarcExportOptions, type WarcExportReport } from './export-warc.ts';

export type WaczExportReport = WarcExportReport & { pages: number; indexLines: number };

export async function exportWacz(
  archive: OpenedArchive,
  selection: Selection,
  path: string,
  options: WarcExportOptions,
): Promise<WaczExportReport> {
  const scratch = await mkdtemp(join(dirname(path), `.${basename(path)}-`)).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
  try {
    const filename = `${basename(path).replace(/\.wacz$/i, '')}.warc.gz`;
    const warc = join(scratch, filename);
    const report = await exportWarc(archive, selection, warc, options);
    const written = await writeWacz(
      path,
      {
        software: options.software,
        createdMs: archive.clock(),
        ...(options.title !== undefined && { title: options.title }),
        warcs: [warc],
        pages: pagesOf(archive, selection),
        indexLines: linesOf(warc, filename),
      },
      { replace: options.force === true },
    );
    return { ...report, bytes: written.bytes, pages: written.pages, indexLines: written.indexLines };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function* linesOf(path: string, filename: string): AsyncGenerator<string> {
  for await (const entry of indexEntries(readRecords(path), { filename, withRequests: true }))
    yield formatCdxjLine(entry);
}

async function* pagesOf(archive: OpenedArchive, selection: Selection) {
  await using view = await archive.catalog.longView();
  for await (const page of selectCaptures(view, selection)) {
    for (const capture of page) {
      const { url, time, status, mime } = capture;
      if (status === 200 && /^(text\/html|application\/xhtml\+xml)$/.test(mime))
        yield { id: captureId(capture), url, ts: formatW3cDate(time) };
    }
  }
}
