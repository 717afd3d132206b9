/**
 * Documents that take too much memory to read are indexed without text and reported once. They are read again when the
 * index is rebuilt.
 */
import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { openArchive } from '../../src/archive/index.ts';
import { type Finding, utf8 } from '../../src/base/index.ts';
import { Indexer, openSearch } from '../../src/search/index.ts';
import { makeArchive, NOON, trialOptions } from '../archive/trial-archive.ts';

/** A PDF with one page and one string of any length. Compressed, a million letters take a kilobyte. */
function pdfOf(text: string): Buffer {
  const content = deflateSync(`BT /F1 12 Tf 14 TL 0 700 Td (${text}) Tj ET`).toString('latin1');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Filter /FlateDecode /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  const parts = ['%PDF-1.7\n', ...objects.map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`)];
  return Buffer.from(`${parts.join('')}trailer\n<< /Size 6 /Root 1 0 R >>\n%%EOF\n`, 'latin1');
}

const RESPONSE_HEAD = utf8('HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n');

test('a document that takes too much memory is indexed without text and reported once, and others are found', async (t) => {
  const first = await makeArchive(t);
  const { directory } = first;
  for (const [name, body] of [
    ['bomb', pdfOf('a'.repeat(48_000_000))],
    ['sound', pdfOf('forty thousand scrolls')],
  ] as const)
    await first.store({
      kind: 'http',
      url: `http://a.test/${name}.pdf`,
      time: NOON,
      responseHead: RESPONSE_HEAD,
      body,
    });
  await first.close();
  await appendFile(join(directory, 'archive.yaml'), 'index:\n  documentMemory: 300MB\n');
  const archive = await openArchive(directory, trialOptions({ seed: 2 }));
  t.after(() => archive.close());
  assert.equal(archive.documentMemory, 300_000_000);
  const catchUp = async (isRebuild = false) => {
    const findings: Finding[] = [];
    const indexer = await Indexer.open(archive, { isRebuild });
    const { documents, partlyRead, tooCostly } = await indexer.catchUp({ onFinding: (one) => findings.push(one) });
    await indexer.close();
    return { counts: [documents, partlyRead, tooCostly], findings };
  };
  const { counts, findings } = await catchUp();
  assert.deepEqual(counts, [2, 1, 1]);
  const [found, ...more] = findings;
  assert.deepEqual([found?.code, found?.level, more.length], ['text-too-costly', 'warning', 0]);
  assert.match(found!.message, /http:\/\/a\.test\/bomb\.pdf$/);
  const segment = (await archive.segments()).find(({ name }) => name === found!.file);
  assert.ok(segment && found!.offset < segment.bytes);
  // The second run does not read the document again.
  assert.deepEqual((await catchUp()).counts, [0, 0, 0]);
  const search = openSearch(directory);
  t.after(() => search.close());
  assert.equal((await search.search('scrolls')).total, 1);
  assert.equal((await search.search('type:pdf')).total, 2);
});

test('a memory limit that is too small for the document readers is refused', async (t) => {
  const archive = await makeArchive(t);
  await archive.close();
  await appendFile(join(archive.directory, 'archive.yaml'), 'index:\n  documentMemory: 50MB\n');
  await assert.rejects(openArchive(archive.directory, trialOptions()), { code: 'CONNECTOR_INVALID' });
});
