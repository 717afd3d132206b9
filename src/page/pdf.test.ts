import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkCollector } from './link.ts';
import { MetaReader } from './meta-reader.ts';
import { readPdf } from './pdf.ts';
import { TextBuilder } from './text-builder.ts';

/** A PDF whose objects are these, numbered from 1; the first is its catalog. */
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

/** Two pages: one with a line, and one that draws a form, which draws another one ten times, and so on: a trillion in all. */
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

test('a document that would be read forever is given up, what was read of it counts, and the next one is read', async () => {
  const read = async (bytes: Uint8Array, msMax?: number) => {
    const text = new TextBuilder();
    const isWhole = await readPdf(bytes, { text, links: new LinkCollector(), meta: new MetaReader() }, msMax);
    return { text: text.text, isWhole };
  };
  // However slow the machine is, there is a time in which the first page is read.
  for (let msMax = 500; ; msMax *= 2) {
    const { text, isWhole } = await read(endlessPdf(), msMax);
    assert.equal(isWhole, false);
    if (text === '') continue;
    assert.equal(text, 'the first page');
    break;
  }
  const sound = pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << ${FONT} >> >>`,
    stream('', line('a sound one')),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]);
  // More than are read at a time.
  const all = await Promise.all([read(sound), read(endlessPdf(), 500), read(sound), read(sound)]);
  assert.deepEqual(
    all.filter(({ isWhole }) => isWhole).map(({ text }) => text),
    ['a sound one', 'a sound one', 'a sound one'],
  );
});
