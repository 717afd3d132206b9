import assert from 'node:assert/strict';
import { test } from 'node:test';
import { charsetOfContentType, decodeText, sniffCharset } from './charset.ts';

/** Encodes a text in a legacy charset, with a table made by the platform's decoder. */
function encode(text: string, charset: string): Uint8Array {
  const table = new Map<string, number[]>();
  const decoder = new TextDecoder(charset);
  for (let first = 0; first < 256; first++) {
    const single = decoder.decode(Uint8Array.of(first));
    if (single !== '\ufffd' && single.length === 1 && !table.has(single)) table.set(single, [first]);
    if (first < 0x81) continue;
    for (let second = 0x40; second < 256; second++) {
      const double = decoder.decode(Uint8Array.of(first, second));
      if (double.length === 1 && double !== '\ufffd' && !table.has(double)) table.set(double, [first, second]);
    }
  }
  return Uint8Array.from(Array.from(text).flatMap((character) => table.get(character) ?? [0x3f]));
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'));

test('the charset comes from the byte order mark, else the HTTP field, else the document', () => {
  assert.equal(sniffCharset(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41), 'text/html; charset=koi8-r'), 'utf-8');
  assert.equal(sniffCharset(Uint8Array.of(0xff, 0xfe, 0x41, 0), 'text/html'), 'utf-16le');
  assert.equal(sniffCharset(Uint8Array.of(0xfe, 0xff, 0, 0x41), 'text/html'), 'utf-16be');
  const meta = bytesOf('<meta charset="shift_jis">');
  assert.equal(sniffCharset(meta, 'text/html; charset="ISO-8859-1"'), 'windows-1252');
  assert.equal(sniffCharset(meta, 'text/html; charset=nonsense'), 'shift_jis');
});

test('meta elements and the XML declaration outside comments declare a charset', () => {
  const cases: [string, string][] = [
    ['<meta charset=gbk>', 'gbk'],
    ["<META content='text/html; charset=windows-1251' HTTP-EQUIV=Content-Type>", 'windows-1251'],
    ['<?xml version="1.0" encoding="EUC-JP"?><html>', 'euc-jp'],
    ['<!-- <meta charset=koi8-r> --><meta charset=big5>', 'big5'],
    ['<meta charset=utf-16>', 'utf-8'],
    ['<meta charset="x-user-defined">', 'windows-1252'],
    ['<!-- <meta charset=koi8-r>', 'utf-8'],
    ['<meta name=x><meta charset=hz-gb-2312><meta charset=latin2>', 'iso-8859-2'],
  ];
  for (const [text, charset] of cases) assert.equal(sniffCharset(bytesOf(text)), charset, text);
  assert.equal(charsetOfContentType("text/html;charset = 'utf8' ; x=y"), 'utf-8');
});

const SAMPLES: Record<string, string> = {
  'windows-1251':
    'В начале было слово, и слово было на русском языке. Библиотека хранит книги и журналы, а также газеты прошлых лет.',
  'koi8-u': 'Архив хранит страницы такими, какими они были. Россия, Москва, Санкт-Петербург и другие города.',
  'windows-1252':
    'Le caf\u00e9 \u00e9tait ferm\u00e9, mais la biblioth\u00e8que \u00e9tait ouverte. Die Stra\u00dfe f\u00fchrt \u00fcber die Br\u00fccke.',
  'windows-1253': 'Η βιβλιοθήκη της Αλεξάνδρειας ήταν η μεγαλύτερη του αρχαίου κόσμου και είχε πολλούς παπύρους.',
  'windows-1255': 'הספרייה הלאומית שומרת את כל הספרים שיצאו לאור בישראל וגם אתרי אינטרנט',
  'windows-1256': 'المكتبة الوطنية تحفظ الكتب والمواقع على شبكة الإنترنت لكي يقرأها الناس في المستقبل',
  'windows-874': 'ห้องสมุดแห่งชาติเก็บรักษาหนังสือและเว็บไซต์ไว้สำหรับคนรุ่นหลัง',
  shift_jis: '図書館は本を保存しています。インターネットのページも保存します。これは日本語の文章です。',
  'euc-jp': '国立国会図書館はインターネット資料を収集しています。日本語のページを読むことができます。',
  gb18030: '图书馆保存着过去的书籍和报纸。我们也保存网页,这样以后的人们就可以看到它们。',
  big5: '圖書館保存著過去的書籍和報紙。我們也保存網頁,這樣以後的人們就可以看到它們。',
  'euc-kr': '도서관은 과거의 책과 신문을 보존한다. 우리는 웹 페이지도 보존한다. 그래서 나중에 사람들이 볼 수 있다.',
};

test('an undeclared charset is guessed from the bytes', () => {
  for (const [charset, text] of Object.entries(SAMPLES)) {
    const bytes = encode(`<html><body class="main"><p>${text}</p></body></html>`, charset);
    const decoded = decodeText(bytes);
    assert.equal(decoded.charset, charset);
    assert.ok(decoded.text.includes(text.slice(0, 20)), charset);
  }
});

test('undeclared UTF-8, UTF-16 and ISO-2022-JP are recognised, also with a cut last character', () => {
  const utf8 = new Uint8Array(Buffer.from('Größe und Länge, 図書館'));
  assert.equal(sniffCharset(utf8.subarray(0, utf8.length - 1)), 'utf-8');
  assert.equal(sniffCharset(new Uint8Array(Buffer.from('<html><body>Text</body>', 'utf16le'))), 'utf-16le');
  assert.equal(sniffCharset(new Uint8Array(Buffer.from('<html><body>Text</body>', 'utf16le').swap16())), 'utf-16be');
  assert.equal(sniffCharset(bytesOf('<p>\x1b$B%F%9%H\x1b(B</p>')), 'iso-2022-jp');
  assert.equal(sniffCharset(bytesOf('plain ASCII')), 'utf-8');
  assert.equal(sniffCharset(new Uint8Array(0)), 'utf-8');
});

test('decoding removes the byte order mark and replaces invalid bytes', () => {
  assert.deepEqual(decodeText(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41)), { text: 'A', charset: 'utf-8' });
  assert.equal(decodeText(Uint8Array.of(0x41, 0xff, 0x42), 'text/plain; charset=utf-8').text, 'A\ufffdB');
  assert.equal(decodeText(Uint8Array.of(0x80), 'text/html; charset=iso-8859-1').text, '\u20ac');
});
