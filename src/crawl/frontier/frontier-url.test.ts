import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalUrl } from '../../url/index.ts';
import { frontierUrl, hostName } from './frontier-url.ts';

const HOSTS = (
  'a.test www.a-b.test 127.0.0.1 10.0.0.255 127.1 01.2.3.4 1.2.3 1.2.3.4.5 256.1.1.1 2130706433 0x7f.1 1.2.3.com xn--a.test a-.test a.x--y localhost ' +
  'A.Test a..test a_b.test'
).split(' ');
const PORTS = ['', ':80', ':443', ':8080', ':08080', ':59999', ':65536', ':70000'];
const PATHS =
  ' / /a /a/ /a.. /.. /. /a/./b /a/../b /a//b /.a /a.b/c.html /%41 /%zz /~x/-y_z /a?b=c /a#b /a%20b /\u00e9'.split(' ');

test('the parser would not change a URL that PLAIN_URL accepts without parsing', () => {
  for (const scheme of ['http', 'https'])
    for (const host of HOSTS)
      for (const port of PORTS)
        for (const path of PATHS) {
          const url = `${scheme}://${host}${port}${path}`;
          const parsed = URL.parse(url);
          const expected = parsed ? (path === '/%zz' ? parsed.href : normalUrl(parsed.href)) : undefined;
          assert.equal(frontierUrl(url), expected, url);
          if (parsed) assert.equal(hostName(expected!), parsed.host, url);
        }
});

test('URLs that cannot be fetched are refused, and passwords are removed', () => {
  for (const url of ['ftp://a.test/', 'data:,x', 'http:', 'http://a.test:0/', 'a.test', ''])
    assert.equal(frontierUrl(url), undefined, url);
  assert.equal(frontierUrl('http://user:secret@a.test/x'), 'http://a.test/x');
});

test('a URL with a percent sign that does not begin an escape is requested as browsers do', () => {
  for (const path of ['/100%', '/a%zz', '/100%25', '/?width=100%', '/%%34%31', '/%7ex/50%?q=%c3%a9'])
    assert.equal(frontierUrl(`http://a.test${path}#b`), `http://a.test${path}`, path);
  assert.equal(frontierUrl('http://a.test/%7ex/%c3%a9'), 'http://a.test/~x/%C3%A9');
});
