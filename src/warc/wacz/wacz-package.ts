/**
 * datapackage.json and datapackage-digest.json of a WACZ, and the JSON manifest of a multi-WACZ.
 *
 * Version 1.1.1 is written. Versions 1.1.1, 1.2.0 (draft: `profile: wacz`, no wacz_version) and 1.0.0 (`stats: {hash,
 * bytes}` beside `hashing`, no names) are read. A broken rule that hides no resource is a warning.
 */
import {
  type Digest,
  type EpochMs,
  formatDigest,
  formatW3cDate,
  fromUtf8,
  parseDigest,
  utf8,
} from '../../base/index.ts';
import type { JsonValue } from '../cdx/cdx-entry.ts';
import type { ReportFault } from '../cdx/cdx-finding.ts';

const WACZ_VERSION = '1.1.1';
export const DATAPACKAGE = 'datapackage.json';
export const DATAPACKAGE_DIGEST = 'datapackage-digest.json';

export type WaczResource = {
  readonly name: string | undefined;
  /** Path in the package; in a multi-WACZ manifest a URL or a path relative to the manifest. */
  readonly path: string;
  /** As written, `sha256:...`. */
  readonly hash: string | undefined;
  readonly bytes: number | undefined;
};

export type WaczPackage = {
  readonly profile: string | undefined;
  readonly version: string | undefined;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly software: string | undefined;
  readonly created: string | undefined;
  readonly modified: string | undefined;
  readonly mainPageUrl: string | undefined;
  readonly mainPageDate: string | undefined;
  readonly resources: readonly WaczResource[];
  /** Whether the resources are packages themselves. */
  readonly isMulti: boolean;
};

type JsonObject = { readonly [key: string]: JsonValue };

const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const asCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Parses a JSON object; undefined and reported when the bytes are not one. */
function parseJsonObject(bytes: Uint8Array, name: string, report: ReportFault): JsonObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(fromUtf8(bytes).replace(/^\uFEFF/, ''));
  } catch {
    value = undefined;
  }
  const object = asObject(value);
  if (!object) report('wacz-json', name);
  return object;
}

/** Reads a datapackage.json or a multi-WACZ manifest. */
export function parseWaczPackage(bytes: Uint8Array, report: ReportFault): WaczPackage | undefined {
  const json = parseJsonObject(bytes, DATAPACKAGE, report);
  if (!json) return undefined;
  const profile = asText(json.profile);
  const version = asText(json.wacz_version);
  const metadata = asObject(json.metadata);
  const home = asObject(json.home);
  const isMulti = profile?.startsWith('multi-wacz') === true;
  if (!isMulti) checkPackage(profile, version, report);
  const listed = json.resources;
  if (!Array.isArray(listed)) report('wacz-package-resources');
  const resources = (Array.isArray(listed) ? listed : []).flatMap((item: unknown) => {
    const resource = parseResource(asObject(item));
    if (!resource) report('wacz-package-resource');
    return resource ? [resource] : [];
  });
  return {
    profile,
    version,
    title: asText(json.title) ?? asText(metadata?.title),
    description: asText(json.description) ?? asText(metadata?.desc),
    software: asText(json.software),
    created: asText(json.created),
    modified: asText(json.modified),
    // py-wacz spells it mainPageURL, the standard mainPageUrl, and the draft of 1.2 has home.url.
    mainPageUrl: asText(json.mainPageUrl) ?? asText(json.mainPageURL) ?? asText(home?.url),
    mainPageDate: asText(json.mainPageDate) ?? asText(home?.ts),
    resources,
    isMulti,
  };
}

function checkPackage(profile: string | undefined, version: string | undefined, report: ReportFault): void {
  if (profile === 'wacz') return;
  if (profile !== 'data-package') report('wacz-profile', profile ?? 'it is missing');
  if (version === undefined) report('wacz-version-missing');
  else if (version !== WACZ_VERSION) report('wacz-version-other', version);
}

function parseResource(item: JsonObject | undefined): WaczResource | undefined {
  const path = asText(item?.path) ?? asText(item?.url);
  if (!item || path === undefined || path === '') return undefined;
  const stats = asObject(item.stats);
  const oldHash = asText(stats?.hash);
  const hashing = asText(item.hashing) ?? 'sha256';
  return {
    name: asText(item.name),
    path,
    hash: asText(item.hash) ?? (oldHash === undefined ? undefined : `${hashing}:${oldHash}`),
    bytes: asCount(item.bytes) ?? asCount(stats?.bytes),
  };
}

export type NewWaczPackage = {
  readonly title?: string;
  readonly description?: string;
  readonly software: string;
  readonly createdMs: EpochMs;
  readonly mainPageUrl?: string;
  readonly mainPageDate?: string;
  readonly resources: readonly { readonly path: string; readonly digest: Digest; readonly bytes: number }[];
};

/** The bytes of a datapackage.json. */
export function formatWaczPackage(content: NewWaczPackage): Uint8Array {
  const names = new Set<string>();
  const resources = content.resources.map(({ path, digest, bytes }) => ({
    name: resourceName(path, names),
    path,
    hash: formatDigest(digest),
    bytes,
  }));
  const { title, description, mainPageUrl, mainPageDate } = content;
  const json = {
    profile: 'data-package',
    resources,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mainPageUrl === undefined ? {} : { mainPageUrl }),
    ...(mainPageDate === undefined ? {} : { mainPageDate }),
    created: formatW3cDate(content.createdMs),
    wacz_version: WACZ_VERSION,
    software: content.software,
  };
  return utf8(JSON.stringify(json, null, 2));
}

/**
 * Frictionless allows only lower-case letters, digits, dot, dash and underscore in names, and requires that they are
 * unique.
 */
function resourceName(path: string, taken: Set<string>): string {
  const base = path
    .slice(path.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/[^-a-z0-9._]/g, '-');
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${number}-${base}`;
  taken.add(name);
  return name;
}

/** The bytes of a datapackage-digest.json. */
export function formatWaczPackageDigest(digest: Digest): Uint8Array {
  return utf8(JSON.stringify({ path: DATAPACKAGE, hash: formatDigest(digest) }, null, 2));
}

export type SignedData = {
  readonly hash: string;
  readonly signature: string;
  readonly created: string | undefined;
  readonly software: string | undefined;
  readonly publicKey: string | undefined;
  readonly domain: string | undefined;
  readonly domainCert: string | undefined;
};

export type WaczPackageDigest = {
  readonly path: string | undefined;
  readonly digest: Digest | undefined;
  readonly signedData: SignedData | undefined;
};

export function parseWaczPackageDigest(bytes: Uint8Array, report: ReportFault): WaczPackageDigest | undefined {
  const json = parseJsonObject(bytes, DATAPACKAGE_DIGEST, report);
  if (!json) return undefined;
  const digest = parseDigest(asText(json.hash) ?? '');
  if (!digest) report('wacz-package-digest-invalid');
  const signed = asObject(json.signedData);
  const hash = asText(signed?.hash);
  const signature = asText(signed?.signature);
  if (signed && (hash === undefined || signature === undefined)) {
    report('wacz-signature-invalid', 'signedData has no hash or no signature');
  }
  const signedData =
    signed && hash !== undefined && signature !== undefined
      ? {
          hash,
          signature,
          created: asText(signed.created),
          software: asText(signed.software),
          publicKey: asText(signed.publicKey),
          domain: asText(signed.domain),
          domainCert: asText(signed.domainCert),
        }
      : undefined;
  return { path: asText(json.path), digest, signedData };
}
