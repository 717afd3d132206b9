import assert from 'node:assert/strict';
import test from 'node:test';
import { acceptsGzip } from './accept-encoding.ts';

test('gzip is accepted unless a client refuses it or prefers unencoded bytes', () => {
  const takes = (field?: string) => acceptsGzip({ headers: { 'accept-encoding': field } });
  for (const field of [
    'gzip',
    'GZIP',
    'x-gzip',
    'deflate, gzip;q=1.0, *;q=0.5',
    'br;q=1, gzip ; Q = 0.001',
    '*',
    'identity;q=0, *;q=0.5',
    'identity;q=0.5, gzip;q=0.8',
    'gzip, identity;q=0',
    'gzip, identity',
  ])
    assert.ok(takes(field), field);
  for (const field of [
    undefined,
    '',
    'br',
    'gzip;q=0',
    'gzip; q=0.000',
    'identity;q=1, gzip;q=0.5',
    'gzip;q=0, *',
    '*;q=0',
    'gzip;q=0, deflate, identity;q=0',
    'not-gzip',
    'gzip;q=x',
  ])
    assert.ok(!takes(field), field);
});
