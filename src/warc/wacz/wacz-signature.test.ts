import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { utf8 } from '../../base/index.ts';
import type { SignedData } from './wacz-package.ts';
import { checkSignature } from './wacz-signature.ts';

const HASH = `sha256:${'ab'.repeat(32)}`;

function signedBy(namedCurve: string, dsaEncoding: 'ieee-p1363' | 'der', hash = HASH): SignedData {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  return {
    hash: HASH,
    signature: sign('sha256', utf8(hash), { key: privateKey, dsaEncoding }).toString('base64'),
    created: undefined,
    software: undefined,
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    domain: undefined,
    domainCert: undefined,
  };
}

test('anonymous signatures of browsers and of servers are accepted', () => {
  const refuse = (code: string) => assert.fail(code);
  assert.equal(checkSignature(signedBy('P-384', 'ieee-p1363'), refuse), 'valid');
  assert.equal(checkSignature(signedBy('P-256', 'der'), refuse), 'valid');
});

test('a signature of another hash, by another key, or with a malformed key is not accepted', () => {
  const codes: string[] = [];
  const report = (code: string) => void codes.push(code);
  const good = signedBy('P-384', 'ieee-p1363');
  assert.equal(checkSignature(signedBy('P-384', 'ieee-p1363', `${HASH}0`), report), 'invalid');
  assert.equal(checkSignature({ ...good, publicKey: signedBy('P-384', 'der').publicKey }, report), 'invalid');
  assert.equal(checkSignature({ ...good, signature: 'AAAA' }, report), 'invalid');
  assert.equal(checkSignature({ ...good, publicKey: 'AAAA' }, report), 'invalid');
  assert.equal(checkSignature({ ...good, publicKey: undefined }, report), 'invalid');
  assert.deepEqual(codes, [
    'wacz-signature-invalid',
    'wacz-signature-invalid',
    'wacz-signature-invalid',
    'wacz-signature-key',
    'wacz-signature-key',
  ]);
});
