import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { surt } from './surt.ts';
import { fastKey, urlKey } from './url-key.ts';

/** URLs with their keys as the Python package surt 0.3.1 makes them. */
const VECTORS: readonly (readonly [url: string, key: string])[] = [
  // The table of the format notes.
  ['http://www.Example.COM/Foo/', 'com,example)/foo'],
  ['https://WWW2.example.com:443/a/../b//c?', 'com,example)/b/c'],
  ['https://example.com:80/', 'com,example:80)/'],
  ['http://example.com/?a=1&', 'com,example)/?&a=1'],
  ['http://example.com/p?q=a%26b&c=d', 'com,example)/p?b&c=d&q=a'],
  ['http://example.com/a%20b%2Fc%252Fd', 'com,example)/a%20b/c/d'],
  ['http://example.com/\u4e2d', 'com,example)/%e4%b8%ad'],
  ['http://example.com/%E4%B8%AD', 'com,example)/%e4%b8%ad'],
  ['http://192.168.1.254/info/', '254,1,168,192)/info'],
  ['http://[2001:db8::1]:81/a', '2001:db8::1:81)/a'],
  ['http://example.com./a', 'com,example)/a'],
  ['http://www.com/', 'com)/'],
  // With and without schemes.
  ['', '-'],
  ['example.com', 'com,example)/'],
  ['example.com/a', 'com,example)/a'],
  ['www.example.com/A', 'com,example)/a'],
  ['//example.com/a', 'com,example)/a'],
  ['HTTP://Example.com:80/', 'com,example)/'],
  ['Https://example.com:443/', 'com,example)/'],
  ['hTTp://example.com:8080/', 'com,example:8080)/'],
  ['http://http://example.com/', 'com,example)/'],
  ['http://https://example.com/a', 'com,example)/a'],
  ['https://http://https://example.com:443/', 'com,example)/'],
  ['HTTP://http://example.com/', 'http)/example.com'],
  ['example.com:8080/a', 'example.com:8080/a'],
  ['localhost:3000', 'localhost:3000'],
  ['dns:www.Example.com', 'dns:www.example.com'],
  ['DNS:example.com', 'DNS:example.com'],
  ['dns://www.example.com/x', 'com,example,www)/x'],
  ['whois://whois.isoc.org.il/shaveh.co.il', 'il,org,isoc,whois)/shaveh.co.il'],
  ['ftp://www.example.com:21/Pub/', 'com,example:21)/pub'],
  ['ftp://ftp.example.com/pub/', 'com,example,ftp)/pub'],
  ['urn:uuid:0A1B2C', 'urn:uuid:0a1b2c'],
  ['urn:X-wpull:log', 'urn:x-wpull:log'],
  ['mailto:Foo@Example.com', 'mailto:foo@example.com'],
  ['about:blank', 'about:blank'],
  ['data:text/html,<B>Hi</B>?b=2&a=1', 'data:text/html,<b>hi</b>?a=1&b=2'],
  ['data:text/plain;base64,SGk=', 'data:text/plain;base64,sgk='],
  ['metadata://gnu.org/software/wpull/warc/MANIFEST.txt', 'org,gnu)/software/wpull/warc/manifest.txt'],
  ['file:///C:/Temp/A.txt', 'file:/c:/temp/a.txt'],
  ['file://host/a/', 'host)/a'],
  ['warcinfo:foo.warc.gz', 'warcinfo:foo.warc.gz'],
  ['filedesc:foo.arc.gz', 'filedesc:foo.arc.gz'],
  ['filedesc://Foo bar.arc.gz', 'filedesc://Foo bar.arc.gz'],
  ['filedescription', 'filedescription'],
  ['screenshot:http://Example.com/', 'screenshot:http://example.com'],
  ['javascript:alert(1)/2', 'javascript:alert(1)/2'],
  ['http:', 'http:'],
  ['http://', 'http:'],
  ['http:///', 'http:/'],
  ['http:///www.example.com/a', 'com,example)/a'],
  ['http://///www.example.com//a', 'com,example)/a'],
  ['http:example.com/a', 'com,example)/a'],
  ['http:/example.com', 'com,example)/'],
  ['http://?a=b', 'http:/?a=b'],
  ['http://#x', 'http:'],
  ['https:?b', 'https:/?b'],
  ['x-y+z.1://Host/a', 'host)/a'],
  // White space and controls.
  ['  http://example.com/a  ', 'com,example)/a'],
  ['\thttp://exa\r\nmple.com/\tb', 'com,example)/b'],
  ['\u000bhttp://example.com/\f', 'com,example)/'],
  ['http://example.com/a b', 'com,example)/a%20b'],
  ['http://example.com/a\u0000b', 'com,example)/a%00b'],
  ['http://example.com/\u007f\u001f', 'com,example)/%7f%1f'],
  ['http:// leading.com/', 'com,%20leading)/'],
  ['http://a b.com/', 'com,a%20b)/'],
  ['http://example.com/a%0Ab%09', 'com,example)/a%0ab%09'],
  ['http://example.com/?a b&\u0001', 'com,example)/?%01&a%20b'],
  // Hosts.
  ['http://WWW.EXAMPLE.COM/', 'com,example)/'],
  ['http://www12.example.com/', 'com,example)/'],
  ['http://www.www.example.com/', 'com,example,www)/'],
  ['http://wwww.example.com/', 'com,example,wwww)/'],
  ['http://www2foo.com/', 'com,www2foo)/'],
  ['http://www/', 'www)/'],
  ['http://www./', 'www)/'],
  ['http://...host..com..', 'com,host)/'],
  ['http://a...b.com/', 'com,b,,a)/'],
  ['http://./x', 'http:/x'],
  ['http://ex%61mple.com/', 'com,example)/'],
  ['http://%77%77%77.example.com/', 'com,example)/'],
  ['http://host%23.com/', 'com,host%23)/'],
  ['http://a%2Fb.com/', 'com,a/b)/'],
  ['http://a%00b/', 'a%00b)/'],
  ['http://a_b.example-1.com/', 'com,example-1,a_b)/'],
  ['http://b\u00fccher.ch/', 'ch,xn--bcher-kva)/'],
  ['http://B\u00dcCHER.ch:8080/', 'ch,xn--bcher-kva:8080)/'],
  ['http://b%C3%BCcher.ch/', 'ch,xn--bcher-kva)/'],
  ['http://xn--bcher-kva.ch/', 'ch,xn--bcher-kva)/'],
  ['http://fa\u00df.de/', 'de,fass)/'],
  ['http://\u03b2\u03cc\u03bb\u03bf\u03c2.com/', 'com,xn--nxasmq6b)/'],
  ['http://\u4f8b\u3048\u3002\u30c6\u30b9\u30c8/', 'xn--zckzah,xn--r8jz45g)/'],
  ['http://\u2603.com/', 'com,xn--n3h)/'],
  ['http://\ud83d\udca9.la/', 'la,xn--ls8h)/'],
  ['http://\uff11\uff12\uff13.com/', 'com,123)/'],
  ['http://%E4x.com/', 'com,x)/'],
  ['http://%ff%fe/', 'http:/'],
  ['http://www.t%EF%BF%BD%04.82.net/', 'net,82,t%ef%bf%bd%04)/'],
  [
    'http://\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9.com/',
    'com,%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9%c3%a9)/',
  ],
  [
    'http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com/',
    'com,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)/',
  ],
  // Userinfo and ports.
  ['http://user@example.com/', 'com,example)/'],
  ['http://user:pass@example.com:80/', 'com,example)/'],
  ['http://u@v@example.com/', 'com,example)/'],
  ['http://@example.com/', 'com,example)/'],
  ['http://example.com:/', 'com,example)/'],
  ['http://example.com:::/', 'com,example)/'],
  ['http://example.com:0/', 'com,example)/'],
  ['http://example.com:00080/', 'com,example)/'],
  ['http://example.com:443/', 'com,example:443)/'],
  ['http://example.com:65535/', 'com,example:65535)/'],
  ['https://example.com:8443/a', 'com,example:8443)/a'],
  ['http://:80/a/b', 'a)/b'],
  ['http://:8080/a/b', 'a:8080)/b'],
  ['http://[::1]/', '::1)/'],
  ['http://[::1]:80/', '::1)/'],
  ['http://[FE80::1%25en0]/a', 'fe80::1%25en0)/a'],
  ['http://[::ffff:1.2.3.4]:8080/', '4,3,2,::ffff:1:8080)/'],
  ['http://[::1', '::1)/'],
  ['http://[::1]x:81/', '::1:81)/'],
  // Addresses.
  ['http://1.2.3.4/', '4,3,2,1)/'],
  ['http://127.1/', '1,0,0,127)/'],
  ['http://127.0.1/', '1,0,0,127)/'],
  ['http://010.1.1.1/', '1,1,1,8)/'],
  ['http://1.010.1.1/', '1,1,8,1)/'],
  ['http://1.08.1.1/', '1,1,08,1)/'],
  ['http://08.1/', '1,08)/'],
  ['http://1.2.3.256/', '256,3,2,1)/'],
  ['http://256.1/', '1,256)/'],
  ['http://1.16777215/', '255,255,255,1)/'],
  ['http://1.16777216/', '16777216,1)/'],
  ['http://3279880203/blah', '11,0,127,195)/blah'],
  ['http://4294967296/', '0,0,0,0)/'],
  ['http://99999999999999999999/', '255,255,15,99)/'],
  ['http://0/', '0,0,0,0)/'],
  ['http://010/', '10,0,0,0)/'],
  ['http://00/', '0,0,0,0)/'],
  ['http://0x7f000001/', '0x7f000001)/'],
  ['http://0x7f.1/', '1,0x7f)/'],
  ['http://1.2.3.4.5/', '5,4,3,2,1)/'],
  ['http://1.2.3.4./', '4,3,2,1)/'],
  ['http://%31%36%38%2e%31%38%38%2e%39%39%2e%32%36/%2E%73%65%63%75%72%65/', '26,99,188,168)/.secure'],
  // Paths.
  ['http://example.com', 'com,example)/'],
  ['http://example.com//', 'com,example)/'],
  ['http://example.com/a//b///c/', 'com,example)/a/b/c'],
  ['http://example.com/a/./b/.', 'com,example)/a/b'],
  ['http://example.com/a/b/..', 'com,example)/a'],
  ['http://example.com/../../../a', 'com,example)/../a'],
  ['http://example.com/..', 'com,example)/..'],
  ['http://example.com/a//../b', 'com,example)/a/b'],
  ['http://example.com/%2e%2E/a', 'com,example)/../a'],
  ['http://example.com/a/...', 'com,example)/a/...'],
  ['http://example.com/.hidden/', 'com,example)/.hidden'],
  ['http://host/%25%32%35', 'host)/%25'],
  ['http://host/%2525252525252525', 'host)/%25'],
  ['http://host/%%%25%32%35asd%%', 'host)/%25%25%25asd%25%25'],
  ['http://host/%zz%4', 'host)/%25zz%254'],
  ['http://host/%7Ea%2521b', 'host)/~a!b'],
  ['http://host/%E9', 'host)/%e9'],
  ['http://host/a%3Fb', 'host)/a?b'],
  ['http://host/ab%23cd', 'host)/ab%23cd'],
  ['http://host/a;b=C', 'host)/a;b=c'],
  ['http://host/"<>[]{}|\\^`', 'host)/"<>[]{}|\\^`'],
  ["http://host/!$&'()*+,:;=@~", "host)/!$&'()*+,:;=@~"],
  ['http://host/a#frag?x', 'host)/a'],
  ['http://host/a?b#frag', 'host)/a?b'],
  ['http://host/\u00c9', 'host)/%c3%89'],
  // Session ids in paths.
  ['http://host/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx', 'host)/mileg.aspx'],
  ['http://host/(4hqa0555fwsecu455xqckv45)/mileg.ASPX?x=1', 'host)/mileg.aspx?x=1'],
  [
    'http://host/(a(4hqa0555fwsecu455xqckv45)S(4hqa0555fwsecu455xqckv45)f(4hqa0555fwsecu455xqckv45))/x/y.aspx',
    'host)/x/y.aspx',
  ],
  ['http://host/(4hqa0555fwsecu455xqckv45)/mileg.html', 'host)/(4hqa0555fwsecu455xqckv45)/mileg.html'],
  [
    'http://host/(4hqa0555fwsecu455xqckv45)/(4hqa0555fwsecu455xqckv45)/a.aspx',
    'host)/(4hqa0555fwsecu455xqckv45)/a.aspx',
  ],
  ['http://host/(4hqa0555fwsecu455xqckv45)/.aspx', 'host)/(4hqa0555fwsecu455xqckv45)/.aspx'],
  ['http://host/(4hqa0555fwsecu455xqckv45)/a%3Fb.aspx', 'host)/(4hqa0555fwsecu455xqckv45)/a?b.aspx'],
  ['http://host/(S(4hqa0555fwsecu455xqckv45))/(4hqa0555fwsecu455xqckv45)/a.aspx', 'host)/a.aspx'],
  ['http://host/photos/36050182@N05/', 'host)/photos/36050182@n05'],
  // Queries.
  ['http://host/?', 'host)/'],
  ['http://host?a', 'host)/?a'],
  ['http://host/a?', 'host)/a'],
  ['http://host/a/?b', 'host)/a?b'],
  ['http://host/?b&a', 'host)/?a&b'],
  ['http://host/?a=2&b&a=1', 'host)/?a=1&a=2&b'],
  ['http://host/?a-b=1&a=2&a.c=3', 'host)/?a=2&a-b=1&a.c=3'],
  ['http://host/?a&a=&a=1', 'host)/?a&a=&a=1'],
  ['http://host/?&&b&', 'host)/?&&&b'],
  ['http://host/?=&==', 'host)/?=&=='],
  ['http://host/?B=X&a=Y', 'host)/?a=y&b=x'],
  ['http://host/q?r?s', 'host)/q?r?s'],
  ['http://host/?q=%C3%A9&r=\u00e9', 'host)/?q=%c3%a9&r=%c3%a9'],
  ['http://host/?a=%2B+b', 'host)/?a=++b'],
  ['http://host/?a=%2525', 'host)/?a=%25'],
  ['http://host/?a=%', 'host)/?a=%25'],
  ['http://host/?a=/../b//c', 'host)/?a=/../b//c'],
  ['http://host/?a;b=2;a=1', 'host)/?a;b=2;a=1'],
  // Session ids in queries.
  ['http://host/?jsessionid=0123456789abcdef0123456789ABCDEF', 'host)/'],
  ['http://host/?a=1&JSESSIONID=0123456789abcdef0123456789ABCDEF&b=2', 'host)/?a=1&b=2'],
  ['http://host/?PHPSESSID=0123456789abcdef0123456789ABCDEF&action=profile;u=4221', 'host)/?action=profile;u=4221'],
  ['http://host/?b=1&sid=0123456789abcdef0123456789ABCDEF', 'host)/?&b=1'],
  ['http://host/?mysid=0123456789abcdef0123456789ABCDEF&a', 'host)/?mya'],
  ['http://host/?sid=0123456789abcdef0123456789ABCDEF0', 'host)/?sid=0123456789abcdef0123456789abcdef0'],
  [
    'http://host/?sid=0123456789abcdef0123456789ABCDEF&sid=0123456789abcdef0123456789ABCDEF',
    'host)/?&sid=0123456789abcdef0123456789abcdef',
  ],
  ['http://host/?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNAM', 'host)/'],
  [
    'http://host/?ASPSESSIONIDAQBSDSRT=EOHBLBDDPFCLHKPGGKLILNA1',
    'host)/?aspsessionidaqbsdsrt=eohblbddpfclhkpggklilna1',
  ],
  ['http://host/?cfid=1169&CFTOKEN=1e5&a=1', 'host)/?a=1'],
  ['http://host/?a&cfid=1&cftoken=2', 'host)/?&a'],
  ['http://host/?cfid=&cftoken=2', 'host)/?cfid=&cftoken=2'],
  ['http://host/?cfid=1&b&cftoken=2', 'host)/?b&cfid=1&cftoken=2'],
  [
    'http://host/a;jsessionid=0123456789abcdef0123456789ABCDEF?b',
    'host)/a;jsessionid=0123456789abcdef0123456789abcdef?b',
  ],
  ['http://host/?a&jsessionid%3D0123456789abcdef0123456789ABCDEF', 'host)/?&a'],
];

/**
 * URLs, with our keys, for which surt 0.3.1 raises an error or differs for a reason given in docs/conformance-url.md.
 */
const DEVIATIONS: readonly (readonly [url: string, key: string])[] = [
  // Only white space.
  ['   ', '-'],
  ['\t\n', '-'],
  // Lone surrogates.
  ['http://example.com/\ud800', 'com,example)/%ef%bf%bd'],
  ['http://example.com/?\udfff=1', 'com,example)/?%ef%bf%bd=1'],
  // Invalid ports.
  ['http://example.com:abc/', 'com,example:abc)/'],
  ['http://example.com:65536/', 'com,example:65536)/'],
  ['http://example.com:-1/a', 'com,example:-1)/a'],
  ['http://example.com: 80/', 'com,example:%2080)/'],
  ['http://example.com:80:80/', 'com,example:80:80)/'],
  ['http://2001:db8::1/', '209,7,0,0:db8::1)/'],
  // An integer with more digits than Python reads.
  [`http://${'9'.repeat(5000)}/`, '255,255,255,255)/'],
  // Host names that today's IDNA accepts and IDNA 2003 or Unicode 3.2 refuses.
  ['http://\u05e99.de/', 'de,xn--9-fjc)/'],
  // Host names that only IDNA 2003 accepts.
  ['http://\u2691 x.com/', 'com,%e2%9a%91%20x)/'],
];

test('a URL has the key that the rules of the Internet Archive define', () => {
  for (const [url, key] of VECTORS) assert.equal(urlKey(url), key, JSON.stringify(url));
});

test('a URL for which the reference fails still has a key', () => {
  for (const [url, key] of DEVIATIONS) assert.equal(urlKey(url), key, JSON.stringify(url.slice(0, 100)));
});

const piece = fc.constantFrom(
  ...[
    'http://',
    'https://',
    'HTTP://',
    'www.',
    'www2.',
    'Example',
    'com',
    'a',
    'B',
    '1',
    '.',
    '..',
    '/',
    '//',
    '?',
    '&',
    '=',
    '#',
    '%',
    '%41',
    '%2e',
  ],
  ...[
    '%2F',
    '-',
    '_',
    ':',
    ':80',
    '@',
    '(',
    ')',
    '(4hqa0555fwsecu455xqckv45)',
    '.aspx',
    '+',
    ' ',
    '\t',
    '\u00e9',
    '\u4e2d',
    '~',
    '[',
    ']',
    '|',
  ],
  ...[
    'sid=0123456789abcdef0123456789abcdef',
    'cfid=1',
    '&cftoken=2',
    'jsessionid=',
    'ASPSESSIONIDabcdefgh=',
    'abcdefghijklmnopqrstuvwx',
  ],
);
const oddUrl = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
const usually = (often: string[], seldom: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...often) }, { weight: 1, arbitrary: fc.constantFrom(...seldom) });
const plainUrl = fc
  .tuple(
    fc.constantFrom('http://', 'https://'),
    fc.array(usually(['www', 'www3', 'Example', 'a-b', '1', '22', 'x_y', 'com'], ['', '%61']), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.array(
      usually(
        ['a', 'B.html', "!$&'*+,:;=@~|", 'x.aspx', 'y(a)'],
        ['', '.', '..', '.x', '(4hqa0555fwsecu455xqckv45)', '%7e'],
      ),
      { maxLength: 5 },
    ),
    fc.option(
      fc.array(
        usually(
          ['a=1', 'A=0', 'a', '', 'b-c=2', '?', '/', '//', '/../'],
          ['sid=0123456789abcdef0123456789ABCDEF', 'cfid=1&cftoken=2', '%26'],
        ),
        { maxLength: 5 },
      ),
    ),
  )
  .map(([scheme, labels, segments, query]) => {
    const path = segments.map((segment) => `/${segment}`).join('');
    return `${scheme}${labels.join('.')}${path}${query ? `?${query.join('&')}` : ''}`;
  });

test('the fast path gives the same key as the complete rules wherever it answers', () => {
  let answered = 0;
  const property = fc.property(fc.oneof(plainUrl, oddUrl), (url) => {
    const quick = fastKey(url);
    if (quick === undefined) return;
    answered++;
    assert.equal(quick, surt(url));
  });
  fc.assert(property, { numRuns: 20_000 });
  assert.ok(answered > 2500, `only ${answered} of 20000 URLs took the fast path`);
});

test('the fast path answers for ordinary URLs', () => {
  for (const url of ['http://example.com', 'https://www.example.com/a/b.html?c=d&a=b', 'http://example.com/a/?']) {
    assert.notEqual(fastKey(url), undefined, url);
  }
});

test('any string has a key of printable ASCII without spaces', () => {
  const anything = fc.oneof(oddUrl, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
  const property = fc.property(anything, (url) => {
    if (!url.startsWith('filedesc')) assert.match(urlKey(url), /^[!-~]+$/);
  });
  fc.assert(property, { numRuns: 5000 });
});

test('the time for URLs of a megabyte is linear in their length, whatever they contain', () => {
  const session = '/(4hqa0555fwsecu455xqckv45)';
  const hostile: Record<string, string> = {
    'nested escapes': `http://a/%${'25'.repeat(500_000)}`,
    labels: `http://${'a.'.repeat(500_000)}b/`,
    'dot segments': `http://a${'/..'.repeat(350_000)}`,
    'path sessions without a page': `http://a${session.repeat(40_000)}`,
    'path sessions behind a question mark': `http://a${session.repeat(40_000)}/%3F.aspx`,
    'one long path session': `http://a/(${'a(4hqa0555fwsecu455xqckv45)'.repeat(40_000)}x/y.aspx`,
    'query sessions': `http://a/?${'sid='.repeat(250_000)}`,
    'half pairs': `http://a/?${'cfid='.repeat(200_000)}&cftoken=`,
    'many pairs': `http://a/?${'cfid=1&cftoken='.repeat(80_000)}`,
    parts: `http://a/?${'&b=c'.repeat(250_000)}`,
    digits: `http://${'9'.repeat(1_000_000)}/`,
    'long label': `http://${'\u00e9'.repeat(500_000)}/`,
    schemes: 'http://'.repeat(150_000),
    NULs: '\0'.repeat(1_000_000),
    'lone surrogates': '\ud800'.repeat(300_000),
  };
  for (const [what, url] of Object.entries(hostile)) {
    const before = process.cpuUsage();
    urlKey(url);
    // Processor time, which other processes do not change.
    const spentMs = process.cpuUsage(before).user / 1000;
    // Quadratic time would be minutes.
    assert.ok(spentMs < 5000, `${what} took ${spentMs} ms`);
  }
});
