/** A small archive for tests: pages that share contents, with a fixed clock and ids that repeat. */
import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Archive, type ArchiveOptions, createArchive, type Problem } from '../../src/archive/index.ts';
import { type Finding, seededIds, seededRandom, utf8 } from '../../src/base/index.ts';
import { type Coding, WarcFileWriter } from '../../src/warc/index.ts';
import { openWithParts } from './opened-parts.ts';

export const START_MS = Date.parse('2024-03-01T10:00:00Z');

/** A directory that is removed after the test. */
export function scratch(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-archive-'));
  // Hooks that run later close archives in this directory, and may still write to it.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }));
  return directory;
}

export async function openSample(directory: string, options: Partial<ArchiveOptions> = {}): Promise<Archive> {
  if (!existsSync(join(directory, 'archive.yaml'))) await createArchive(directory, { name: 'sample' });
  opened++;
  return openWithParts(directory, {
    clock: () => START_MS + opened * 1000,
    newId: seededIds(seededRandom(opened)),
    ...options,
  });
}

let opened = 0;

/**
 * A page with a given content. Contents with the same number have the same bytes, and all are large enough to be
 * deduplicated.
 */
export function contentOf(number: number): string {
  return `<title>${number}</title>${`<p>The scroll of shelf ${number}.</p>`.repeat(80)}`;
}

export type Page = { readonly url: string; readonly day: number; readonly content: number };

/**
 * The page on the n-th day. Three days in a row have the same content, and the two sites share all of their contents.
 */
export function samplePages(count: number): Page[] {
  return Array.from({ length: count }, (_, index) => ({
    url: `http://${index % 2 === 0 ? 'a' : 'b'}.test/page/${index % 7}`,
    day: index,
    content: Math.floor(index / 3),
  }));
}

export function timeOf({ day }: Page): number {
  return START_MS + day * 86_400_000;
}

export async function writePages(path: string, pages: readonly Page[], coding: Coding = 'gzip'): Promise<void> {
  const writer = await WarcFileWriter.create(path, { coding });
  for (const page of pages) {
    const record = {
      type: 'response',
      recordId: `<urn:uuid:00000000-0000-4000-8000-${String(page.day).padStart(12, '0')}>`,
      date: new Date(timeOf(page)).toISOString(),
      targetUri: page.url,
      contentType: 'application/http; msgtype=response',
    } as const;
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Day: ${page.day}\r\n\r\n`;
    await writer.write(record, utf8(head + contentOf(page.content)));
  }
  await writer.finish();
}

export async function textOf(payload: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of payload) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}

/** The body of a page as the archive returns it. */
export async function bodyOf(archive: Archive, page: Page): Promise<string> {
  return textOf((await archive.get(page.url, timeOf(page))).payload);
}

/** The days of the pages that the archive does not return as they were stored. */
export async function lostDays(archive: Archive, pages: readonly Page[]): Promise<number[]> {
  const days: number[] = [];
  for (const page of pages) {
    const found = await archive.get(page.url, timeOf(page)).catch(() => undefined);
    const isRight =
      found?.capture.time === timeOf(page) &&
      found.http?.get('x-day') === String(page.day) &&
      (await textOf(found.payload).catch(() => '')) === contentOf(page.content);
    if (!isRight) days.push(page.day);
  }
  return days;
}

export async function problemsOf(archive: Archive, depth: 'quick' | 'full' = 'full'): Promise<Problem[]> {
  const problems: Problem[] = [];
  await archive.verify({ depth, onProblem: (problem) => void problems.push(problem) });
  return problems;
}

/** Files below a directory, by path. */
export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true })
    .map((name) => join(directory, String(name)))
    .filter((path) => statSync(path).isFile())
    .sort();
}

export function segmentFiles(directory: string): string[] {
  return filesBelow(directory).filter((path) => /\.w?arc(\.gz|\.zst)?(\.open)?$/.test(path));
}

/** Collects findings in a list. */
export function gather(): { findings: Finding[]; onFinding: (finding: Finding) => void } {
  const findings: Finding[] = [];
  return { findings, onFinding: (finding) => void findings.push(finding) };
}
