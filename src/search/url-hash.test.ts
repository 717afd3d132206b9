import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlKey } from '../url/index.ts';
import { hashOfKey, TargetHashes, targetWord, targetWords } from './url-hash.ts';

test('similar keys have different hashes of 52 bits', () => {
  const hashes = new Set<number>();
  for (let at = 0; at < 200_000; at++) hashes.add(hashOfKey(urlKey(`http://host${at % 7}.example/page/${at}`)));
  assert.equal(hashes.size, 200_000);
  for (const hash of hashes) assert.ok(Number.isSafeInteger(hash) && hash >= 0 && hash < 2 ** 52);
  const mean = [...hashes].reduce((sum, hash) => sum + hash / 2 ** 52, 0) / hashes.size;
  assert.ok(Math.abs(mean - 0.5) < 0.01, `spread evenly: ${mean}`);
});

test('the words of many hashes are the words of each hash', () => {
  const keys = ['http://a.example/', 'http://b.example/x?y=1', 'https://www.c.example/%20'].map(urlKey);
  assert.equal(targetWords(keys.map(hashOfKey)).trim(), keys.map(targetWord).join(' '));
  for (const key of keys) assert.match(targetWord(key), /^[0-9a-f]{13}$/);
});

test('targets are distinct by URL key, and targets of citing links are listed separately', () => {
  const hash = (url: string) => hashOfKey(urlKey(url));
  const { all, cited } = new TargetHashes().of([
    { url: 'http://a.example/', kind: 'anchor' },
    { url: 'https://www.a.example', kind: 'anchor' },
    { url: 'http://a.example/i.png', kind: 'image' },
    { url: 'http://a.example/b', kind: 'frame' },
    { url: 'http://a.example/', kind: 'image' },
  ]);
  const sorted = (...urls: string[]) => urls.map(hash).sort((a, b) => a - b);
  assert.deepEqual([...all], sorted('http://a.example/', 'http://a.example/b', 'http://a.example/i.png'));
  assert.deepEqual([...cited], sorted('http://a.example/', 'http://a.example/b'));
});
