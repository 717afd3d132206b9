/**
 * Whether a client wants gzip according to its Accept-Encoding (RFC 9110, section 12.5.3): the weight of gzip is above
 * zero, and not below the weight of unencoded bytes.
 */
import type { IncomingMessage } from 'node:http';

export function acceptsGzip({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const weights = new Map<string, number>();
  for (const part of String(headers['accept-encoding'] ?? '').split(',')) {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '');
    weights.set(coding.replace(/^x-/, ''), weight === undefined ? 1 : Number(weight) || 0);
  }
  const gzip = weights.get('gzip') ?? weights.get('*') ?? 0;
  return gzip > 0 && gzip >= (weights.get('identity') ?? 0);
}
