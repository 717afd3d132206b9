import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf, hostOfKey } from './host.ts';
import { urlKey } from './url-key.ts';

test('the host of a URL is the host of its key, without www and port', () => {
  const hosts: Record<string, string> = {
    'http://www.Example.com:8080/a?b': 'example.com',
    'http://example.com:abc/': 'example.com',
    'http://localhost:3000/': 'localhost',
    'http://user:secret@sub.example.co.uk/': 'sub.example.co.uk',
    'http://b\u00fccher.ch/': 'xn--bcher-kva.ch',
    'http://127.1/': '127.0.0.1',
    'http://[2001:DB8::1]/': '2001:db8::1',
    'http://[::ffff:1.2.3.4]/a)/b': '::ffff:1.2.3.4',
    'metadata://gnu.org/x': 'gnu.org',
  };
  for (const [url, host] of Object.entries(hosts)) {
    assert.equal(hostOf(url), host, url);
    assert.equal(hostOfKey(urlKey(url)), host, url);
  }
});

test('a URL without a host has an empty host', () => {
  for (const url of [
    '',
    'dns:example.com',
    'urn:uuid:1',
    'javascript:f()/2',
    'data:text/html,(a)/b',
    'filedesc://x.arc',
  ]) {
    assert.equal(hostOf(url), '', url);
  }
});
