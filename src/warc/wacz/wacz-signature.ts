/**
 * Checks the signature of a signed WACZ (wacz-auth 0.1) as far as possible without network access.
 *
 * The signed bytes are the text of `signedData.hash`. An anonymous signature contains its own ECDSA key (base64 of the
 * SPKI form; browsers write r and s side by side, servers write DER). It proves that nothing changed since the holder
 * of the key signed. A domain signature contains a certificate. The signature is checked with the key of this
 * certificate. The validity of the certificate for the domain at that time is not checked; the state `unverified` says
 * so.
 */
import { createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { utf8 } from '../../base/index.ts';
import type { ReportFault } from '../cdx/cdx-finding.ts';
import type { SignedData } from './wacz-package.ts';

/** `unverified`: the key matches the signature, but the owner of the key was not checked. */
export type SignatureState = 'none' | 'valid' | 'invalid' | 'unverified';

export function checkSignature(signed: SignedData, report: ReportFault): SignatureState {
  const key = signed.publicKey === undefined ? certificateKey(signed) : anonymousKey(signed.publicKey);
  if (!key) {
    report('wacz-signature-key');
    return 'invalid';
  }
  if (!isSignedBy(key, signed)) {
    report('wacz-signature-invalid');
    return 'invalid';
  }
  if (signed.publicKey !== undefined) return 'valid';
  report('wacz-signature-unverified', signed.domain ?? 'the domain is not named');
  return 'unverified';
}

function anonymousKey(base64: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function certificateKey({ domainCert }: SignedData): KeyObject | undefined {
  if (domainCert === undefined) return undefined;
  try {
    return new X509Certificate(domainCert).publicKey;
  } catch {
    return undefined;
  }
}

function isSignedBy(key: KeyObject, { hash, signature }: SignedData): boolean {
  const bytes = Buffer.from(signature, 'base64');
  const data = utf8(hash);
  try {
    if (key.asymmetricKeyType !== 'ec') return verify('sha256', data, key, bytes);
    return (['ieee-p1363', 'der'] as const).some((dsaEncoding) => verify('sha256', data, { key, dsaEncoding }, bytes));
  } catch {
    return false;
  }
}
