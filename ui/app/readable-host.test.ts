import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainToASCII } from 'node:url';
import { readableHost } from './readable-host.ts';

const READABLE = [
  'münchen.de',
  'www.straßenbahn-größe.example',
  'пример.рф',
  'библиотека.example',
  'παράδειγμα.δοκιμή',
  '図書館.jp',
  'とても長い名前の図書館.日本',
  '도서관.한국',
  'ห้องสมุด.ไทย',
  'पुस्तकालय.भारत',
  'łódź.pl',
];

test('host names are shown in their own script', () => {
  for (const host of READABLE) {
    assert.ok(domainToASCII(host).includes('xn--'), host);
    assert.equal(readableHost(domainToASCII(host)), host);
    assert.equal(readableHost(`reader@${domainToASCII(host)}:8080`), `reader@${host}:8080`);
  }
});

test('names that readers could mistake for others are not decoded', () => {
  const unsafe = [
    'аррӏе.com',
    'pаypal.com',
    'κατα1a.com',
    'ıcloud.com',
    'wwwノexample.com',
    'хае.ua',
    'νικο.gr',
    'ספר.example',
    'مثال.example',
    // A mark that is hardly visible, letters that no modern language uses, digits of other scripts, parts of syllables.
    'аррӏе\u0487.com',
    'сосаы.com',
    'νοϳα.com',
    'ĸate.com',
    '৪৪.com',
    '๐๐.com',
    'ᅵᅵ.com',
  ];
  for (const host of unsafe) {
    const ascii = domainToASCII(host);
    assert.ok(ascii.includes('xn--'), host);
    assert.equal(readableHost(ascii), ascii);
  }
});

test('invalid labels are not decoded', () => {
  for (const host of [
    'xn--.example',
    'xn--a.example',
    'xn--zzzzzzzzzzzzzzzz',
    'xn--0',
    'example.org',
    'my-xn--mnchen-3ya.de',
    'xn--mnchen-3ya_.de',
    // More digits than a number can hold.
    `xn--${'9'.repeat(400)}b.example`,
    '',
  ])
    assert.equal(readableHost(host), host);
});
