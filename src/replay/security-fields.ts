/**
 * The fields that keep an archived page inside the archive, whatever its scripts try.
 *
 * - A page can load from, send to and frame only the origin of replay itself (`default-src 'self'`, `form-action`,
 *   `frame-src`). The browser refuses what rewriting misses, so safety depends on the policy and not on rewriting.
 * - Only the web interface and replay itself may frame a replayed page (`frame-ancestors`).
 * - A replayed page cannot open windows or navigate the topmost one (`sandbox`), and gets no camera, location or other
 *   device (`Permissions-Policy`).
 * - Workers have the same policy as pages, also workers that are started from a script of replay itself.
 * - Stored bytes that a client requests unchanged (`id_`) run and load nothing at all.
 */
import type { ReplayOrigins } from './memento.ts';

/** The sandbox of a replayed page and of its frame: no windows, and no navigation of the topmost window. */
const FRAME_SANDBOX = 'allow-scripts allow-same-origin allow-forms allow-modals allow-downloads';

const REFUSED_FEATURES = [
  'accelerometer',
  'browsing-topics',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
];

const PERMISSIONS = REFUSED_FEATURES.map((feature) => `${feature}=()`).join(', ');

const SHARED: readonly [string, string][] = [
  ['Referrer-Policy', 'same-origin'],
  ['Permissions-Policy', PERMISSIONS],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-site'],
  ['Origin-Agent-Cluster', '?1'],
  ['X-DNS-Prefetch-Control', 'off'],
];

/**
 * The policy for the scripts of replay itself. A page could start a worker from such a script, and a worker has the
 * policy of its script.
 */
export const ASSET_POLICY = "default-src 'self' data: blob: 'unsafe-eval'";

export class SecurityFields {
  /** The fields for documents, which run scripts. */
  readonly document: readonly [string, string][];
  /** The fields for the parts of a document. */
  readonly resource: readonly [string, string][];
  /** The fields for stored bytes that are sent unchanged. */
  readonly raw: readonly [string, string][];

  constructor({ uiOrigin }: ReplayOrigins) {
    const policy = [
      "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'",
      "object-src 'self' data: blob:",
      "base-uri 'self'",
      "form-action 'self'",
      `frame-ancestors 'self' ${uiOrigin}`,
    ].join('; ');
    this.document = [['Content-Security-Policy', `${policy}; sandbox ${FRAME_SANDBOX}`], ...SHARED];
    this.resource = [['Content-Security-Policy', policy], ...SHARED];
    const nothing = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self' ${uiOrigin}; sandbox`;
    this.raw = [['Content-Security-Policy', nothing], ['X-Content-Type-Options', 'nosniff'], ...SHARED];
  }
}
