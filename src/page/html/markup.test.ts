import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Tokenizer } from 'htmlparser2';
import { MarkupReader, type MarkupSink } from './markup.ts';

type Token = string;

/** The tokens of MarkupReader as lines. Attributes are lines with name and value. */
function ours(source: string, isInForeign = false, isXml = false): Token[] {
  const tokens: Token[] = [];
  let open: Token[] = [];
  const cut = (start: number, end: number) => JSON.stringify(source.slice(start, end));
  const sink: MarkupSink = {
    isInForeign,
    onText: (start, end) => tokens.push(`text ${cut(start, end)}`),
    onTagName: (start, end) => {
      open = [`tag ${cut(start, end)}`];
    },
    onAttribute: (nameStart, nameEnd, valueStart, valueEnd) =>
      open.push(`attribute ${cut(nameStart, nameEnd)}=${cut(valueStart, valueEnd)}`),
    onTagEnd: (isSelfClosing) => tokens.push(...open, isSelfClosing ? 'self-closing' : 'open'),
    onCloseTag: (start, end) => tokens.push(`close ${cut(start, end)}`),
    onComment: (start, end) => tokens.push(`comment ${cut(start, end)}`),
  };
  new MarkupReader(source, sink, isXml).read();
  return tokens;
}

/** The tokens of htmlparser2 in the same form. */
function theirs(source: string): Token[] {
  const tokens: Token[] = [];
  let open: Token[] = [];
  let name = '';
  let value = '';
  const cut = (start: number, end: number) => JSON.stringify(source.slice(start, end));
  const tokenizer = new Tokenizer(
    { decodeEntities: false },
    {
      isInForeignContext: () => false,
      ontext: (start, end) => tokens.push(`text ${cut(start, end)}`),
      onopentagname: (start, end) => {
        open = [`tag ${cut(start, end)}`];
      },
      onattribname: (start, end) => {
        name = cut(start, end);
        value = '';
      },
      onattribdata: (start, end) => {
        value += source.slice(start, end);
      },
      onattribend: () => open.push(`attribute ${name}=${JSON.stringify(value)}`),
      onopentagend: () => tokens.push(...open, 'open'),
      onselfclosingtag: () => tokens.push(...open, 'self-closing'),
      onclosetag: (start, end) => tokens.push(`close ${cut(start, end)}`),
      oncomment: (start, end, offset) => tokens.push(`comment ${cut(start, end - offset)}`),
      onattribentity() {},
      oncdata() {},
      ondeclaration() {},
      onend() {},
      onprocessinginstruction() {},
      ontextentity() {},
    },
  );
  tokenizer.write(source);
  tokenizer.end();
  return tokens;
}

const PIECES = [
  ...[
    '<',
    '</',
    '>',
    '/>',
    '/',
    '=',
    '"',
    "'",
    ' ',
    '\n',
    '&amp;',
    'text',
    '\u00e9',
    '<<',
    '</>',
    '< ',
    '</ x>',
    '</3>',
  ],
  ...[
    '<p',
    '<P CLASS=a',
    '<a href="x>y"',
    "<a href='x\"y'",
    '<a href=x/y',
    '</p',
    '</a >',
    '<br/',
    '<b / c',
    '<i =x',
    'id',
    'a=b',
  ],
  ...[
    '<!',
    '<!>',
    '<!-',
    '<!--',
    '-->',
    '--!>',
    '--!',
    '->',
    '--',
    '-',
    '<!-->',
    '<!--->',
    '<!---->',
    '<?xml',
    '?>',
    '<!x>',
  ],
  ...['<!doctype html>', '<!DOCTYPE', '<!docty', '<![if x]>', '<script>', '</script', '</script>', '<SCRIPT src=x>'],
  ...[
    '<style>',
    '</style>',
    '</STYLE >',
    '<title>',
    '</title>',
    '<textarea>',
    '</textarea>',
    '<titles>',
    '<iframe>',
    '</iframe>',
  ],
  ...[
    '<xmp>',
    '</xmp>',
    '<noembed>',
    '</noembed>',
    '<noframes>',
    '</noframes>',
    '<plaintext>',
    '</plaintext>',
    '<script/>',
  ],
];

/** Closes everything that is open. Unlike browsers, htmlparser2 reports an unfinished tag at the end as text. */
const TAIL = `"'>--></script></style></title></textarea></xmp></iframe></noembed></noframes>.`;

test('MarkupReader and htmlparser2 find the same tokens, even in broken markup', () => {
  const markup = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 }).map((pieces) => pieces.join('') + TAIL);
  fc.assert(
    fc.property(markup, (source) => assert.deepEqual(ours(source), theirs(source), source)),
    { numRuns: 20_000 },
  );
});

test('CDATA is text in SVG and XML; elsewhere it is a comment up to the first >', () => {
  const source = '<![CDATA[a>b]]>c';
  assert.deepEqual(ours(source), ['comment "[CDATA[a"', 'text "b]]>c"']);
  assert.deepEqual(ours(source, true), ['text "a>b"', 'text "c"']);
  assert.deepEqual(ours(source, false, true), ['text "a>b"', 'text "c"']);
  assert.deepEqual(ours('<![CDATA[a', true), ['text "a"']);
});

test('in SVG a title can contain tags, and in XML a self-closing script is empty', () => {
  assert.deepEqual(ours('<title>a<b></title>', true), [
    'tag "title"',
    'open',
    'text "a"',
    'tag "b"',
    'open',
    'close "title"',
  ]);
  assert.deepEqual(ours('<script/><b>', false, true), ['tag "script"', 'self-closing', 'tag "b"', 'open']);
});

test('unfinished markup at the end is text or a comment, except for a tag, which is ignored', () => {
  for (const source of ['<p', '<p class', '<p class=', '<p class=a', '<p class="a>', '<p /', '</p', '<titl']) {
    assert.deepEqual(ours(`x${source}`), ['text "x"'], source);
  }
  assert.deepEqual(ours('</p '), ['close "p"']);
  assert.deepEqual(ours('a<'), ['text "a"', 'text "<"']);
  assert.deepEqual(ours('a</'), ['text "a"', 'text "</"']);
  assert.deepEqual(ours('<!-- a'), ['comment " a"']);
  assert.deepEqual(ours('<?a'), ['comment "?a"']);
  assert.deepEqual(ours('<script>a</script'), ['tag "script"', 'open', 'text "a</script"']);
});

test('many unclosed tags are read in linear time', () => {
  for (const piece of ['<', '<!--', '<a b="', '</', '<script>', '<!-- --', '<![CDATA[']) {
    const tokens = ours(piece.repeat(200_000));
    assert.ok(tokens.length <= 200_001, piece);
  }
});
