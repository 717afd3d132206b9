import assert from 'node:assert/strict';
import type { LookupFunction } from 'node:net';
import { test } from 'node:test';
import { AddressPolicy, isPublicAddress } from './address-policy.ts';

test('addresses of the public internet are public', () => {
  for (const address of [
    '8.8.8.8',
    '193.0.14.129',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '::ffff:0:8.8.8.8',
  ])
    assert.ok(isPublicAddress(address), address);
});

test('loopback, private, link-local, reserved and embedded addresses are not public', () => {
  const addresses = [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1%eth0',
    'fd00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2002:a00:1::1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '::ffff:0:10.0.0.1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:10::1',
    '3fff::1',
    '5f00::1',
    '100:0:0:1::1',
    'localhost',
    '',
    '999.1.1.1',
  ];
  for (const address of addresses) assert.ok(!isPublicAddress(address), address);
});

test('a look-up leaves out addresses that may not be connected to', async () => {
  const both: LookupFunction = (_, __, done) =>
    done(null, [
      { address: '10.0.0.1', family: 4 },
      { address: '8.8.8.8', family: 4 },
    ]);
  const asked = (allowPrivate: boolean, resolve: LookupFunction) =>
    new Promise((resolvePromise) => {
      const policy = new AddressPolicy({ allowPrivate, privateNetworks: [] });
      policy.lookup(resolve)('x.test', { all: true }, (error, found) => resolvePromise(error ?? found));
    });
  assert.deepEqual(await asked(false, both), [{ address: '8.8.8.8', family: 4 }]);
  assert.equal(((await asked(true, both)) as unknown[]).length, 2);
  const inside: LookupFunction = (_, __, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
  assert.equal(((await asked(false, inside)) as { code: string }).code, 'ADDRESS_REFUSED');
});

test('networks that the connector names are allowed, besides the public internet', () => {
  const policy = new AddressPolicy({
    allowPrivate: false,
    privateNetworks: ['10.20.0.0/16', 'fd12::/16', '192.168.7.9/32'],
  });
  for (const address of ['10.20.3.4', '::ffff:10.20.3.4', 'fd12::5', 'fd12::5%eth0', '192.168.7.9', '8.8.8.8'])
    assert.ok(policy.allows(address), address);
  for (const address of ['10.21.0.1', '127.0.0.1', '169.254.169.254', '192.168.7.10', 'fd13::1', '::1', 'x', ''])
    assert.ok(!policy.allows(address), address);
});
