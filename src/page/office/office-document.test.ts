import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { type Page, readPageOnThisThread } from '../page.ts';

type Entry = {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly isStored?: boolean;
  /** A wrong size to write into the headers. */
  readonly declaredBytes?: number;
};

/** A ZIP file (APPNOTE 4.3): local headers with their bytes, the directory, and the end record. */
function zip(entries: readonly Entry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes, isStored = false, declaredBytes = bytes.length } of entries) {
    const packed = isStored ? Buffer.from(bytes) : deflateRawSync(bytes);
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(isStored ? 0 : 8, 4);
    fields.writeUInt32LE(crc32(bytes), 10);
    fields.writeUInt32LE(packed.length, 14);
    fields.writeUInt32LE(declaredBytes, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), packed);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, place, Buffer.from(name));
    offset += 30 + Buffer.byteLength(name) + packed.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, Buffer.from('PK\x05\x06', 'latin1'), end]);
}

const xml = (name: string, text: string): Entry => ({
  name,
  bytes: Buffer.from(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${text}`),
});

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const rels = (...list: (readonly [id: string, type: string, target: string, isExternal?: boolean])[]) =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${list
    .map(
      ([id, type, target, isExternal]) =>
        `<Relationship Id="${id}" Type="${RELATIONSHIPS}/${type}" Target="${target}"${isExternal ? ' TargetMode="External"' : ''}/>`,
    )
    .join('')}</Relationships>`;

const CORE = xml(
  'docProps/core.xml',
  '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>The tables &amp; the library</dc:title><dc:creator>Somebody</dc:creator>' +
    '<dc:description>A test.</dc:description><dc:language>en-GB</dc:language><dcterms:created>2024-03-01T10:00:00Z</dcterms:created><dcterms:modified>2024-03-02T10:00:00Z</dcterms:modified></cp:coreProperties>',
);

function openXml(main: string, ...entries: Entry[]): Buffer {
  return zip([
    xml('[Content_Types].xml', '<Types/>'),
    xml('_rels/.rels', rels(['r1', 'officeDocument', main], ['r2', 'metadata/core-properties', 'docProps/core.xml'])),
    CORE,
    ...entries,
  ]);
}

const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;

const WRITING = openXml(
  'word/document.xml',
  xml(
    'word/document.xml',
    `<w:document xmlns:w="w" xmlns:r="r"><w:body>
      <w:p><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr>${run('Callimachus')}</w:p>
      <w:p>${run('He wrote ')}${run('the tables')}<w:r><w:delText>nothing</w:delText></w:r>, <w:hyperlink r:id="l1">${run('see here')}</w:hyperlink>${run('.')}</w:p>
      <w:tbl><w:tr><w:tc><w:p>${run('one')}</w:p></w:tc><w:tc><w:p>${run('two')}</w:p></w:tc></w:tr></w:tbl>
      <w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText> HYPERLINK "http://field.test/" </w:instrText></w:r>${run('a field')}</w:p>
      <mc:AlternateContent xmlns:mc="mc"><mc:Choice><w:p>${run('a box')}</w:p></mc:Choice><mc:Fallback><w:p>${run('a box')}</w:p></mc:Fallback></mc:AlternateContent>
      <w:p>${run('line')}<w:r><w:br/></w:r>${run('&#x3B2;&#946;')}</w:p></w:body></w:document>`,
  ),
  xml(
    'word/_rels/document.xml.rels',
    rels(
      ['l1', 'hyperlink', 'http://example.org/tables?a=1&amp;b=2#part', true],
      ['l2', 'hyperlink', 'mailto:a@b.test', true],
      ['s', 'styles', 'styles.xml'],
      ['f', 'footnotes', '/word/footnotes.xml'],
      ['h', 'header', 'header1.xml'],
      ['c', 'comments', 'comments.xml'],
    ),
  ),
  xml(
    'word/styles.xml',
    '<w:styles xmlns:w="w"><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style></w:styles>',
  ),
  xml(
    'word/footnotes.xml',
    `<w:footnotes xmlns:w="w"><w:footnote><w:p>${run('a note')}</w:p></w:footnote></w:footnotes>`,
  ),
  xml('word/header1.xml', `<w:hdr xmlns:w="w"><w:p>${run('page head')}</w:p></w:hdr>`),
  xml('word/comments.xml', `<w:comments xmlns:w="w"><w:p>${run('a comment')}</w:p></w:comments>`),
);

const slide = (title: string, text: string) =>
  `<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r"><p:cSld><p:spTree>
    <p:sp><p:nvSpPr><p:nvPr><p:ph type="ctrTitle"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${title}</a:t></a:r></a:p></p:txBody></p:sp>
    <p:sp><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="l1"/></a:rPr><a:t>${text}</a:t></a:r><a:r><a:t> and more</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`;

const SLIDES = openXml(
  'ppt/presentation.xml',
  xml(
    'ppt/presentation.xml',
    '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>',
  ),
  xml(
    'ppt/_rels/presentation.xml.rels',
    rels(['a', 'slide', 'slides/slide1.xml'], ['b', 'slide', 'slides/slide2.xml']),
  ),
  xml('ppt/slides/slide1.xml', slide('The second', 'last words')),
  xml('ppt/slides/slide2.xml', slide('The first', 'first words')),
  xml(
    'ppt/slides/_rels/slide2.xml.rels',
    rels(['l1', 'hyperlink', 'http://slides.test/', true], ['n', 'notesSlide', '../notesSlides/notesSlide1.xml']),
  ),
  xml(
    'ppt/notesSlides/notesSlide1.xml',
    '<p:notes xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>say this</a:t></a:r></a:p></p:notes>',
  ),
);

const SHEETS = openXml(
  'xl/workbook.xml',
  xml(
    'xl/workbook.xml',
    '<workbook xmlns:r="r"><sheets><sheet name="Books" sheetId="1" r:id="r1"/></sheets></workbook>',
  ),
  xml(
    'xl/_rels/workbook.xml.rels',
    rels(['r1', 'worksheet', 'worksheets/sheet1.xml'], ['r2', 'sharedStrings', 'sharedStrings.xml']),
  ),
  xml(
    'xl/sharedStrings.xml',
    '<sst><si><t>Author</t></si><si><r><t>Kalli</t></r><r><t>machos</t></r><rPh><t>spoken</t></rPh></si></sst>',
  ),
  xml(
    'xl/worksheets/sheet1.xml',
    `<worksheet xmlns:r="r"><sheetData><row r="1"><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Rolls</t></is></c></row>
      <row r="2"><c t="s"><v>1</v></c><c><v>120</v></c><c t="str"><f>A1</f><v>made up</v></c><c t="b"><v>1</v></c><c t="s"><v>99</v></c></row></sheetData>
      <hyperlinks><hyperlink ref="A1" r:id="l1" display="the list"/></hyperlinks></worksheet>`,
  ),
  xml('xl/worksheets/_rels/sheet1.xml.rels', rels(['l1', 'hyperlink', 'http://sheets.test/', true])),
);

const openDocument = (kind: string, body: string) =>
  zip([
    { name: 'mimetype', bytes: Buffer.from(`application/vnd.oasis.opendocument.${kind}`), isStored: true },
    xml(
      'content.xml',
      `<office:document-content xmlns:office="o"><office:automatic-styles><number:text>style</number:text></office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
    ),
    xml(
      'meta.xml',
      '<office:document-meta><office:meta><dc:title>An open document</dc:title><dc:creator>Somebody</dc:creator><meta:creation-date>2024-03-01T10:00:00</meta:creation-date><dc:date>2024-03-02T10:00:00</dc:date></office:meta></office:document-meta>',
    ),
  ]);

const read = async (bytes: Uint8Array, mime: string): Promise<Page> => {
  const page = await readPageOnThisThread({ bytes, mime, url: 'http://host.test/file' });
  assert.ok(page);
  return page;
};
const DOCX = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const links = (page: Page) => page.links.map(({ url, text }) => `${url} ${text}`);

describe('office documents', () => {
  test('a Word document is read with tables, notes and links; deleted text is skipped', async () => {
    const page = await read(WRITING, DOCX);
    assert.equal(page.title, 'The tables & the library');
    assert.equal(page.description, 'A test.');
    assert.equal(page.language, 'en');
    assert.equal(page.publishedAt, Date.UTC(2024, 2, 1, 10));
    assert.equal(page.modifiedAt, Date.UTC(2024, 2, 2, 10));
    assert.deepEqual(page.headings, ['Callimachus']);
    const lines = [
      'Callimachus',
      'He wrote the tablessee here.',
      'one',
      'two',
      'a field',
      'a box',
      'line',
      'ββ',
      'a note',
    ];
    assert.deepEqual(page.text.split('\n'), [...lines, 'page head']);
    assert.deepEqual(page.mainText.trimEnd().split('\n'), lines);
    assert.deepEqual(links(page), ['http://example.org/tables?a=1&b=2 see here', 'http://field.test/ ']);
    assert.equal(page.isTruncated, false);
    assert.doesNotMatch(JSON.stringify(page), /Somebody|a comment/);
  });

  test('slides are read in order, with titles as headings, notes and links', async () => {
    const page = await read(SLIDES, 'application/vnd.openxmlformats-officedocument.presentationml.presentation');
    assert.deepEqual(page.headings, ['The first', 'The second']);
    assert.deepEqual(page.text.split('\n'), [
      'The first',
      'first words and more',
      'say this',
      'The second',
      'last words and more',
    ]);
    assert.deepEqual(links(page), ['http://slides.test/ first words']);
  });

  test('every row of a sheet is a line', async () => {
    const page = await read(SHEETS, 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet');
    assert.deepEqual(page.headings, ['Books']);
    assert.deepEqual(page.text.split('\n'), ['Books', 'Author Rolls', 'Kallimachos 120 made up']);
    assert.deepEqual(links(page), ['http://sheets.test/ the list']);
  });

  test('OpenDocument texts, slides and sheets are read', async () => {
    const writing = await read(
      openDocument(
        'text',
        `<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes><text:h>A heading</text:h>
          <text:p>Before <text:span>in</text:span> the<text:s/>middle<office:annotation><text:p>comment</text:p></office:annotation> and
          <text:a xlink:href="/below">a link</text:a></text:p></office:text>`,
      ),
      'application/vnd.oasis.opendocument.text',
    );
    assert.equal(writing.title, 'An open document');
    assert.deepEqual(writing.text.split('\n'), ['A heading', 'Before in the middle and a link']);
    assert.deepEqual(writing.headings, ['A heading']);
    assert.deepEqual(links(writing), ['http://host.test/below a link']);
    const slides = await read(
      openDocument(
        'presentation',
        '<office:presentation><draw:page><draw:frame presentation:class="title"><text:p>Title</text:p></draw:frame><draw:frame><text:p>Words</text:p></draw:frame></draw:page></office:presentation>',
      ),
      'application/vnd.oasis.opendocument.presentation',
    );
    assert.deepEqual([slides.headings, slides.text], [['Title'], 'Title\nWords']);
    const row = (...cells: string[]) =>
      `<table:table-row>${cells.map((cell) => `<table:table-cell><text:p>${cell}</text:p></table:table-cell>`).join('')}</table:table-row>`;
    const sheet = await read(
      openDocument(
        'spreadsheet',
        `<office:spreadsheet><table:table table:name="Books">${row('a', 'b')}${row('c', 'd')}</table:table></office:spreadsheet>`,
      ),
      'application/vnd.oasis.opendocument.spreadsheet',
    );
    assert.equal(sheet.text, 'Books\na b\nc d');
  });

  test('documents of an unknown media type are recognised by their first bytes', async () => {
    assert.match((await read(WRITING, 'application/octet-stream')).text, /Callimachus/);
    assert.equal((await read(openDocument('text', ''), '')).title, 'An open document');
    const other = zip([{ name: 'a.txt', bytes: Buffer.from('text') }]);
    assert.equal(
      await readPageOnThisThread({ bytes: other, mime: 'application/octet-stream', url: 'http://host.test/' }),
      undefined,
    );
  });

  test('links are read even without the text option', async () => {
    const page = await readPageOnThisThread({ bytes: WRITING, mime: DOCX, url: 'http://host.test/' }, { text: false });
    assert.equal(page?.text, '');
    assert.equal(page?.links.length, 2);
  });
});

describe('hostile office documents', () => {
  const bomb = (bytes: number) =>
    Buffer.alloc(bytes, '<w:p><w:r><w:t>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</w:t></w:r></w:p>');
  const heavy = (entries: Entry[]) => openXml('word/document.xml', ...entries);

  test('cutting a part that inflates too much marks the page as truncated', async () => {
    const start = Buffer.from('<w:document><w:body>');
    const bytes = Buffer.concat([start, bomb(40 * 1024 * 1024)]);
    const document = heavy([{ name: 'word/document.xml', bytes }]);
    assert.ok(document.length < 1024 * 1024);
    const page = await read(document, DOCX);
    assert.equal(page.isTruncated, true);
    assert.ok(page.text.length <= 8 * 1024 * 1024);
  });

  test('all parts together are read up to TOTAL_BYTES_MAX', async () => {
    // The parts have no text, because text has its own limit.
    const bytes = Buffer.alloc(12 * 1024 * 1024, `<!--${'x'.repeat(1000)}-->`);
    const parts = Array.from({ length: 7 }, (_, at) => ({ name: `word/footnotes${at}.xml`, bytes }));
    const list = parts.map(({ name }, at) => [`r${at}`, 'footnotes', `/${name}`] as const);
    const document = heavy([
      xml('word/document.xml', '<w:document/>'),
      xml('word/_rels/document.xml.rels', rels(...list)),
      ...parts,
    ]);
    assert.equal((await read(document, DOCX)).isTruncated, true);
    const fewer = heavy([
      xml('word/document.xml', '<w:document/>'),
      xml('word/_rels/document.xml.rels', rels(...list.slice(0, 2))),
      ...parts,
    ]);
    assert.equal((await read(fewer, DOCX)).isTruncated, false, 'parts without a relation are not read');
  });

  test('documents with wrong sizes, cyclic relations or deep nesting are read', async () => {
    const lying = heavy([
      {
        name: 'word/document.xml',
        bytes: Buffer.from('<w:document><w:p><w:r><w:t>whole</w:t></w:r></w:p></w:document>'),
        declaredBytes: 30,
      },
    ]);
    assert.equal((await read(lying, DOCX)).isTruncated, true);
    const circle = heavy([
      xml('word/document.xml', `<w:document>${'<w:tbl>'.repeat(100_000)}</w:document>`),
      xml(
        'word/_rels/document.xml.rels',
        rels(['a', 'header', 'document.xml'], ['b', 'footnotes', '../../../etc/passwd']),
      ),
    ]);
    assert.equal((await read(circle, DOCX)).text, '');
  });

  test('invalid bytes give an empty truncated page', async () => {
    for (const bytes of [Buffer.from('nothing'), WRITING.subarray(0, 600), zip([])]) {
      const page = await read(bytes, DOCX);
      assert.deepEqual([page.text, page.isTruncated], ['', true]);
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(WRITING.length - 1), fc.nat(255), async (at, value) => {
        const damaged = Buffer.from(WRITING);
        damaged[at] = value;
        await readPageOnThisThread({ bytes: damaged, mime: DOCX, url: 'http://host.test/' });
      }),
      { numRuns: 200 },
    );
  });
});
