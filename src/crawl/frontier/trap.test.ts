import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trapOf } from './trap.ts';

const NOW = Date.UTC(2026, 10, 15);

test('ordinary URLs are not traps', () => {
  const urls = [
    'http://a.test/',
    'http://a.test/2024/05/12/a-post/',
    'http://a.test/archive/1991/the-web',
    'http://a.test/books/1700/3/',
    'http://a.test/wiki/1066',
    'http://a.test/a/b/a/b/c',
    'http://a.test/calendar/2027/01/',
    'http://a.test/search?q=a&page=2&sort=asc',
  ];
  for (const url of urls) assert.equal(trapOf(url, NOW), undefined, url);
});

test('repeating paths, very deep paths, long queries and far calendar dates are traps', () => {
  assert.equal(trapOf('http://a.test/x/deeper/deeper/deeper/deeper/', NOW), 'repeating-path');
  assert.equal(trapOf('http://a.test/a/b/a/b/a/b/a/b/', NOW), 'repeating-path');
  assert.equal(trapOf('http://a.test/img/x/img/y/img/z/img/w', NOW), 'repeating-path');
  assert.equal(trapOf(`http://a.test/${Array.from({ length: 31 }, (_, n) => n).join('/')}`, NOW), 'deep-path');
  assert.equal(
    trapOf(`http://a.test/?${Array.from({ length: 41 }, (_, n) => `p${n}=1`).join('&')}`, NOW),
    'long-query',
  );
  assert.equal(trapOf('http://a.test/calendar/2093/04/', NOW), 'calendar');
  assert.equal(trapOf('http://a.test/events?month=3&year=1821', NOW), 'calendar');
  assert.equal(trapOf('http://a.test/events/?date=2055-01-01', NOW), 'calendar');
});
