import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { ConnectionLimit, isAddressOrNetwork } from './connection-limit.ts';

const from = (remoteAddress: string) => Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;

test('the open connections of each address are limited separately', () => {
  const limit = new ConnectionLimit([], 2);
  const first = from('192.0.2.1');
  assert.deepEqual(
    [first, from('::ffff:192.0.2.1'), from('192.0.2.1'), from('192.0.2.2')].map((socket) => limit.admit(socket)),
    [true, true, false, true],
  );
  first.emit('close');
  assert.deepEqual([limit.admit(from('192.0.2.1')), limit.admit(from('192.0.2.1'))], [true, false]);
});

test('the open connections of a port are limited in all, those of proxies included', () => {
  const limit = new ConnectionLimit(['192.0.2.7'], 2, 3);
  const first = from('192.0.2.7');
  assert.deepEqual(
    [first, from('192.0.2.7'), from('192.0.2.7'), from('192.0.2.7'), from('192.0.2.8')].map((one) => limit.admit(one)),
    [true, true, true, false, false],
  );
  first.emit('close');
  assert.deepEqual([limit.admit(from('192.0.2.8')), limit.admit(from('192.0.2.9'))], [true, false]);
});

test('IPv6 clients are counted by their /64 network', () => {
  const limit = new ConnectionLimit([], 1);
  for (const [address, isAdmitted] of [
    ['2001:db8::1', true],
    ['2001:db8:0:0:5::1', false],
    ['2001:db8:0:1::1', true],
    ['fe80::1%eth0', true],
    ['fe80::2%eth1', false],
    ['::1', true],
  ] as const)
    assert.equal(limit.admit(from(address)), isAdmitted, address);
});

test('the connections of proxies are not limited', () => {
  const limit = new ConnectionLimit(['192.0.2.7', '172.18.0.0/16', '2001:db8::/32'], 1);
  for (const address of ['192.0.2.7', '::ffff:192.0.2.7', '172.18.3.4', '2001:db8:1::9'])
    assert.deepEqual([limit.admit(from(address)), limit.admit(from(address))], [true, true], address);
  assert.deepEqual([limit.admit(from('192.0.2.8')), limit.admit(from('192.0.2.8'))], [true, false]);
  for (const text of ['192.0.2.7', '10.0.0.0/8', '::1', 'fd00::/8']) assert.ok(isAddressOrNetwork(text), text);
  for (const text of ['', 'proxy', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/x', '10.0.0.0/8/8', '1.2.3'])
    assert.ok(!isAddressOrNetwork(text), text);
});
