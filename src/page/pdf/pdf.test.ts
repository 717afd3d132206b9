import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { deflateSync, gzipSync } from 'node:zlib';
import { DOCUMENT_BYTES_MAX } from '../page.ts';
import { documentProcessId, readPage, readPageInBackground } from '../page-process.ts';

/** A PDF with these objects, numbered from 1. The first object is the catalog. */
function pdfOf(objects: readonly string[]): Buffer {
  let text = '%PDF-1.7\n';
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  text += offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}

const stream = (fields: string, content: string) =>
  `<< ${fields} /Length ${content.length} >>\nstream\n${content}\nendstream`;
const line = (text: string) => `BT /F1 12 Tf (${text}) Tj ET`;
const FONT = '/Font << /F1 5 0 R >>';

/**
 * A PDF of two pages. One has a line. The other has a form that draws another form ten times, and so on, in all a
 * trillion forms.
 */
function endlessPdf(): Buffer {
  const page = (content: number) =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${content} 0 R /Resources << ${FONT} /XObject << /X 8 0 R >> >> >>`;
  const forms = Array.from({ length: 12 }, (_, at) =>
    stream(
      `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << ${FONT} /XObject << /X ${9 + at} 0 R >> >>`,
      at === 11 ? line('x') : '/X Do '.repeat(10),
    ),
  );
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>',
    page(4),
    stream('', line('the first page')),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    page(7),
    stream('', '/X Do'),
    ...forms,
  ]);
}

const WORDS = 'BT /F1 12 Tf 14 TL 0 700 Td';

/** A PDF of one page with this content, compressed from many megabytes to some kilobytes. */
function pdfWith(content: string): Buffer {
  const packed = deflateSync(content).toString('latin1');
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << ${FONT} >> >>`,
    stream('/Filter /FlateDecode', packed),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]);
}

/** One string of 48 million letters in 47 KB. */
const bomb = () => pdfWith(`${WORDS} (${'a'.repeat(48_000_000)}) Tj ET`);
const sound = (text: string) => pdfWith(`${WORDS} (${text}) Tj ET`);
const source = (bytes: Uint8Array) => ({ bytes, mime: 'application/pdf', url: 'http://one.example/a.pdf' });
const BOUNDS = { memoryBytesMax: 300_000_000 };

test('after a document that takes too much memory ended the child process, the next documents are read', async () => {
  const before = process.memoryUsage.rss();
  const [first, costly, next] = await Promise.all(
    [sound('the first'), bomb(), sound('the next')].map((bytes) => readPage(source(bytes), {}, BOUNDS)),
  );
  assert.deepEqual([first?.text, first?.isTooCostly, first?.isTruncated], ['the first', undefined, false]);
  assert.deepEqual([costly?.text, costly?.isTooCostly, costly?.isTruncated], ['', true, true]);
  assert.equal(next?.text, 'the next');
  assert.ok(process.memoryUsage.rss() - before < 150_000_000, 'this process did not read the document');
});

test('a document that draws without end is given up at the time limit', async () => {
  const endless = await readPage(source(endlessPdf()), {}, { msMax: 1 });
  assert.deepEqual([endless?.text, endless?.isTooCostly], ['', true]);
  assert.equal((await readPage(source(sound('the next'))))?.text, 'the next');
});

test('all threads share one child process, which reads one document after another', async (t) => {
  const script = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(async ({ readPage, documentProcessId }) => {
      const page = await readPage(workerData.source);
      parentPort.postMessage([page.text, documentProcessId()]);
    });`;
  const module = new URL('../page-process.ts', import.meta.url).href;
  await readPage(source(sound('one')));
  const pid = documentProcessId();
  assert.ok(pid !== undefined);
  const workerData = { module, source: source(sound('another')) };
  const worker = new Worker(script, { eval: true, workerData });
  t.after(() => worker.terminate());
  const [message] = await once(worker, 'message');
  // The thread did not start its own process.
  assert.deepEqual(message, ['another', undefined]);
  assert.equal(documentProcessId(), pid);
});

test('the child process ends with the program that started it, even in the middle of a document', async () => {
  const module = new URL('../page-process.ts', import.meta.url).href;
  const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM, module], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  program.stdin.end(endlessPdf());
  const [output] = await once(program.stdout, 'data');
  const pid = Number(output);
  program.kill('SIGKILL');
  await once(program, 'exit');
  await untilGone(pid);
});

/** Starts to read a document that never ends, then prints the id of the process that reads it. */
const PROGRAM = `
  import { buffer } from 'node:stream/consumers';
  const { readPage, documentProcessId } = await import(process.argv[1]);
  const bytes = await buffer(process.stdin);
  const source = (bytes) => ({ bytes, mime: 'application/pdf', url: 'http://one.example/' });
  await readPage(source(Buffer.from('%PDF-')));
  void readPage(source(bytes));
  process.stdout.write(String(documentProcessId()));`;

async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a document with more than DOCUMENT_BYTES_MAX is not read, with or without a content coding', async () => {
  const large = Buffer.concat([sound('the text'), Buffer.alloc(DOCUMENT_BYTES_MAX, '%')]);
  for (const coded of [{ ...source(large) }, { ...source(gzipSync(large, { level: 1 })), codings: ['gzip'] }]) {
    const page = await readPageInBackground(coded);
    assert.deepEqual([page?.text, page?.isTruncated, page?.isTooCostly], ['', true, undefined]);
  }
});
