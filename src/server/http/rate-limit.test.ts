import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { ClientAddress } from './client-address.ts';
import { parseRate, RateLimit } from './rate-limit.ts';

type Fields = Readonly<Record<string, string>>;

const from = (remoteAddress: string, headers: Fields = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

function makeLimit(text: string, proxies: readonly string[] = []) {
  let now = 0;
  const limit = new RateLimit(parseRate(text)!, () => now, new ClientAddress(proxies));
  const admits = (request: IncomingMessage, times: number) =>
    Array.from({ length: times }, () => limit.refusalOf(request)).filter((refusal) => !refusal).length;
  return { limit, admits, pass: (ms: number) => (now += ms) };
}

test('a client may send as many requests as the limit at once, and then the average', () => {
  const { limit, admits, pass } = makeLimit('60/m');
  assert.equal(admits(from('192.0.2.1'), 100), 60);
  const refusal = limit.refusalOf(from('192.0.2.1'))!;
  assert.deepEqual([refusal.status, refusal.fields?.['retry-after']], [429, '1']);
  assert.equal(admits(from('192.0.2.2'), 100), 60, 'another client has a bucket of its own');
  pass(10_000);
  assert.equal(admits(from('192.0.2.1'), 100), 10);
  pass(3_600_000);
  assert.equal(admits(from('192.0.2.1'), 100), 60, 'the bucket does not overflow');
  assert.equal(makeLimit('2/h').admits(from('192.0.2.1'), 3), 2);
});

test('the /64 network of an IPv6 address is one client, and this machine is not limited', () => {
  const { admits } = makeLimit('5/s');
  assert.equal(admits(from('2001:db8::1'), 5), 5);
  assert.equal(admits(from('2001:db8::2'), 5), 0);
  assert.equal(admits(from('2001:db8:0:1::2'), 5), 5);
  for (const own of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) assert.equal(admits(from(own), 50), 50, own);
});

test('only a proxy that was named says who its client is', () => {
  const { admits } = makeLimit('5/s', ['192.0.2.7']);
  const forged = (name: string) => from('192.0.2.1', { 'x-forwarded-for': name });
  assert.equal(admits(forged('198.51.100.1'), 5) + admits(forged('198.51.100.2'), 5), 5);
  // The client wrote the first address, and the proxy added the last.
  const proxied = (name: string) => from('192.0.2.7', { 'x-forwarded-for': `203.0.113.9, ${name}` });
  assert.equal(admits(proxied('198.51.100.1'), 5) + admits(proxied('198.51.100.2'), 5), 10);
});

test('a sender that the guard has known has a bucket of its own, and wrong tokens have none', () => {
  const { limit, admits } = makeLimit('5/s');
  const own = from('192.0.2.1', { authorization: 'Bearer right' });
  limit.know(own, { kind: 'token', name: 'crawler' });
  const wrong = (token: string) => from('192.0.2.1', { authorization: `Bearer ${token}` });
  assert.equal(admits(wrong('one'), 3) + admits(wrong('two'), 3), 5);
  assert.equal(admits(own, 5), 5);
  const elsewhere = from('192.0.2.2', { authorization: 'Bearer right' });
  assert.equal(admits(elsewhere, 1), 0, 'the same token at another address');
});

test('a rate is a number for each second, minute or hour', () => {
  assert.deepEqual(parseRate('50/s'), { requests: 50, windowMs: 1000 });
  for (const wrong of ['', '50', '0/s', '50/d', '-1/s', '1.5/s', '50/ s'])
    assert.equal(parseRate(wrong), undefined, wrong);
});
