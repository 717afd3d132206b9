/**
 * The fields that keep an archived page inside the archive, whatever its scripts try.
 *
 * - Nothing is loaded, sent or framed but from the origin of replay itself (`default-src 'self'`, `form-action`,
 *   `frame-src`). What rewriting misses is refused here, so the policy and not the rewriting is what one relies on.
 * - Only the web page and replay itself may frame a replayed page (`frame-ancestors`).
 * - A replayed page cannot open windows or navigate the topmost one (`sandbox`), and gets no camera, place or other
 *   device (`Permissions-Policy`).
 * - Workers are kept as pages are, also those that are started from a script of replay itself.
 * - Stored bytes that are asked for as they are run and load nothing at all.
 */
import type { ReplayOrigins } from './memento.ts';

/**
 * What a replayed page may do, in the sandbox of the frame that shows it and in its own. Windows and top navigation are
 * not among it.
 */
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
 * For the scripts of replay itself: a page could start a worker from one, and a worker is ruled by the policy that its
 * own script came with.
 */
export const ASSET_POLICY = "default-src 'self' data: blob: 'unsafe-eval'";

export class SecurityFields {
  /** For documents, which run scripts. */
  readonly document: readonly [string, string][];
  /** For everything that a document consists of. */
  readonly resource: readonly [string, string][];
  /** For stored bytes as they are. */
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
