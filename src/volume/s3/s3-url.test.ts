import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PinakesError } from '../../base/index.ts';
import { parseEndpoint, parseS3Url } from './s3-url.ts';

test('an address names a bucket and a prefix', () => {
  assert.deepEqual(parseS3Url('s3://bucket'), { bucket: 'bucket', prefix: '' });
  assert.deepEqual(parseS3Url('s3://bucket/'), { bucket: 'bucket', prefix: '' });
  assert.deepEqual(parseS3Url('S3://My.Bucket_1/a/b c/'), { bucket: 'My.Bucket_1', prefix: 'a/b c' });
});

test('an address that cannot be meant is refused, without showing a secret in it', () => {
  const long = `s3://bucket/${'x'.repeat(200)}`;
  const bad = ['', 's3:/bucket', 's3://', 's3:///a', 's3://b/a//b', 's3://b/../a', 's3://b/a?x', 's3://b/a%2f', long];
  for (const url of bad) assert.throws(() => parseS3Url(url), PinakesError, url);
  for (const url of ['s3://key:secret@bucket/a', 's3://bucket/a@secret'])
    assert.throws(
      () => parseS3Url(url),
      (error) => error instanceof PinakesError && !error.message.includes('secret'),
    );
});

test('an endpoint is an address of a server without credentials and without a query', () => {
  assert.equal(parseEndpoint('https://s3.example.org:9000/'), 'https://s3.example.org:9000');
  assert.equal(parseEndpoint('http://127.0.0.1:9000/path'), 'http://127.0.0.1:9000/path');
  for (const text of ['s3.example.org', 'ftp://s3.example.org', 'https://s3.example.org/?a=b', ''])
    assert.throws(() => parseEndpoint(text), PinakesError, text);
  assert.throws(
    () => parseEndpoint('https://key:secret@s3.example.org'),
    (error) => error instanceof PinakesError && !error.message.includes('secret'),
  );
});
