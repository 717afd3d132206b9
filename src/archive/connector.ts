/**
 * The connector: `archive.yaml`, which makes a directory an archive. It lists the volumes and the policies. The
 * connector and the segments are all that is needed to keep the captures.
 *
 * The connector of an archive in a cluster only says where the catalog is, and which archive it is about. Volumes and
 * policies are in the database then (cluster/settings.ts), since every machine has a directory of its own.
 */
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { fileError, PinakesError, replaceFile } from '../base/index.ts';
import { type MirrorSetting, parseMirrors } from './mirror/mirror-setting.ts';

export const CONNECTOR_NAME = 'archive.yaml';

/**
 * The version of an archive. Version 1 has catalog rows of format 3, and records its deletions in tombstone files. An
 * earlier release refuses version 2, since it would bring deleted captures back.
 */
export const ARCHIVE_VERSION = 2;
const FIRST_VERSION = 1;

export type VolumeSetting = {
  readonly name: string;
  /** `directory`, `s3`: our own segments. `linked`: files at other places that are only read. */
  readonly kind: 'directory' | 'linked' | 's3';
  /** Relative to the directory of the archive, or absolute. Of a bucket: `s3://bucket/prefix`. */
  readonly path: string;
  /** Of a bucket: the address of the server, unless it is that of AWS, and the region. */
  readonly endpoint?: string;
  readonly region?: string;
  readonly writable: boolean;
};

/** How contents are distributed over the writable volumes: by their digests, or by free space. */
export type Distribution = 'hash' | 'uniform';

export type Policies = {
  /** A segment larger than this is sealed, and a new one begins. */
  readonly segmentBytesMax: number;
  /**
   * `auto`: a payload is shared when it is larger than what a revisit adds to a head (I7, see isWorthRevisit). With a
   * number, smaller payloads are stored again.
   */
  readonly dedupBytesMin: number | 'auto';
  /**
   * Copies of contents by how many captures refer to them: `{2: 10, 3: 1000}` means that a content with 10 references
   * is in 2 volumes, and one with 1,000 in 3. Absent: none.
   */
  readonly copies?: Readonly<Record<string, number>>;
  /** Absent: `uniform`. */
  readonly distribution?: Distribution;
};

export type CrawlPolicy = {
  /** Networks beyond the public internet that every crawl of the archive may fetch from, such as `10.20.0.0/16`. */
  readonly privateNetworks: readonly string[];
};

export type IndexSettings = {
  /**
   * Memory of the process that reads PDF and office documents, in bytes. In the connector it may also be written as
   * `512MB`.
   */
  readonly documentMemory?: number;
};

export type Connector = {
  readonly version: number;
  readonly name: string;
  /** Of a cluster: the address of the database, without a password, and the id of the archive in it. */
  readonly catalog?: string;
  readonly id?: string;
  readonly volumes: readonly VolumeSetting[];
  readonly policies: Policies;
  readonly crawl: CrawlPolicy;
  readonly index?: IndexSettings;
  readonly mirrors?: readonly MirrorSetting[];
};

const DEFAULT_NUMBERS: Pick<Policies, 'segmentBytesMax' | 'dedupBytesMin'> = {
  segmentBytesMax: 1_000_000_000,
  dedupBytesMin: 'auto',
};

/** An earlier release refuses an archive with a policy that it does not know, so these are not written by default. */
export const DEFAULT_POLICIES: Policies = DEFAULT_NUMBERS;

/**
 * The default before there was `auto`. A connector with this value has the former default, not a choice of its user.
 */
const FORMER_DEDUP_BYTES_MIN = 1024;

export const DEFAULT_CRAWL: CrawlPolicy = { privateNetworks: [] };

export const MAIN_VOLUME: VolumeSetting = { name: 'main', kind: 'directory', path: 'volumes/main', writable: true };

export async function readConnector(directory: string): Promise<Connector> {
  const path = join(directory, CONNECTOR_NAME);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === 'ENOENT') throw new PinakesError('ARCHIVE_MISSING', { where: directory, cause });
    if (code === 'ENOTDIR') throw new PinakesError('FILE_NOT_DIRECTORY', { where: directory, cause });
    throw fileError(cause, path);
  }
  return parseConnector(text, path);
}

function parseConnector(text: string, where: string): Connector {
  const bad = (detail: string, cause?: unknown) => new PinakesError('CONNECTOR_INVALID', { where, detail, cause });
  let value: unknown;
  try {
    value = parse(text);
  } catch (cause) {
    throw bad((cause as Error).message.split('\n')[0]!, cause);
  }
  return connectorOf(value, bad);
}

type Bad = (detail: string, cause?: unknown) => PinakesError;

/** The connector in a value of YAML or JSON. */
export function connectorOf(value: unknown, bad: Bad): Connector {
  if (!isRecord(value)) throw bad('it is not a mapping');
  const { version, catalog, id } = value;
  if (version !== ARCHIVE_VERSION && version !== FIRST_VERSION) {
    if (Number(version) > ARCHIVE_VERSION)
      throw bad(`version ${String(version)} was made by a newer Pinakes; use that one`);
    throw bad(`version ${String(version)} is not understood`);
  }
  if (typeof value.name !== 'string') throw bad('name is missing');
  if (catalog !== undefined && (typeof catalog !== 'string' || typeof id !== 'string'))
    throw bad('catalog is not an address, or the id of the archive is missing');
  const volumes = value.volumes ?? [];
  // The volumes of a cluster are in its database, and it has none until one is added.
  if (!Array.isArray(volumes) || (volumes.length === 0 && id === undefined)) throw bad('volumes are missing');
  const names = new Set<string>();
  const settings = volumes.map((volume, index): VolumeSetting => {
    if (!isRecord(volume)) throw bad(`volume ${index + 1} is not a mapping`);
    const { name, kind = 'directory', path, writable = kind !== 'linked', endpoint, region } = volume;
    if (typeof name !== 'string' || !isVolumeName(name)) throw bad(`volume ${index + 1} does not have a valid name`);
    if (kind !== 'directory' && kind !== 'linked' && kind !== 's3') throw bad(`volume ${name} has an unknown kind`);
    if (typeof path !== 'string' || typeof writable !== 'boolean')
      throw bad(`volume ${name} does not have a valid path or state`);
    if (names.has(name)) throw bad(`two volumes are called ${name}`);
    names.add(name);
    if (kind !== 's3') return { name, kind, path, writable };
    const isText = (value: unknown) => value === undefined || typeof value === 'string';
    if (!path.startsWith('s3://') || !isText(endpoint) || !isText(region))
      throw bad(`volume ${name} does not have a valid path, endpoint or region`);
    return {
      ...{ name, kind, path, writable },
      ...(typeof endpoint === 'string' && { endpoint }),
      ...(typeof region === 'string' && { region }),
    };
  });
  const index = parseIndexSettings(value.index, bad);
  const mirrors = parseMirrors(value.mirrors, bad);
  return {
    version,
    name: value.name,
    ...(typeof catalog === 'string' && { catalog }),
    ...(typeof id === 'string' && { id }),
    volumes: settings,
    policies: parsePolicies(value.policies, bad),
    crawl: parseCrawl(value.crawl, bad),
    ...(index && { index }),
    ...(mirrors.length > 0 && { mirrors }),
  };
}

export function isVolumeName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]*$/.test(name);
}

function parsePolicies(value: unknown, bad: (detail: string) => PinakesError): Policies {
  if (value === undefined || value === null) return DEFAULT_POLICIES;
  if (!isRecord(value)) throw bad('policies are not a mapping');
  const { distribution, copies, ...numbers } = value;
  if (distribution !== undefined && distribution !== 'hash' && distribution !== 'uniform')
    throw bad('policy distribution is neither hash nor uniform');
  const policies: Record<string, number | 'auto'> = { ...DEFAULT_NUMBERS };
  for (const [name, number] of Object.entries(numbers)) {
    if (!(name in DEFAULT_NUMBERS)) throw bad(`there is no policy ${name}`);
    const isAuto = name === 'dedupBytesMin' && (number === 'auto' || number === FORMER_DEDUP_BYTES_MIN);
    if (isAuto) continue;
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0)
      throw bad(`policy ${name} is not a number`);
    policies[name] = number;
  }
  return {
    ...(policies as typeof DEFAULT_NUMBERS),
    ...(distribution && { distribution }),
    ...parseCopies(copies, bad),
  };
}

function parseCopies(value: unknown, bad: (detail: string) => PinakesError): Pick<Policies, 'copies'> {
  if (value === undefined || value === null) return {};
  const isCopies = isRecord(value) && Object.entries(value).every(([count, from]) => isFrom(Number(count), from));
  if (!isCopies)
    throw bad('policy copies is not like {2: 10, 3: 1000}: copies from 2 to 9, and the references from which on');
  return { copies: value as Record<string, number> };
}

function isFrom(count: number, from: unknown): boolean {
  return Number.isInteger(count) && count >= 2 && count <= 9 && Number.isSafeInteger(from) && Number(from) >= 1;
}

function parseCrawl(value: unknown, bad: (detail: string) => PinakesError): CrawlPolicy {
  if (value === undefined || value === null) return DEFAULT_CRAWL;
  if (!isRecord(value)) throw bad('crawl is not a mapping');
  for (const name of Object.keys(value)) if (!(name in DEFAULT_CRAWL)) throw bad(`there is no setting crawl.${name}`);
  const { privateNetworks = [] } = value;
  if (!Array.isArray(privateNetworks)) throw bad('crawl.privateNetworks is not a list');
  const unfit = privateNetworks.find((network) => !isNetwork(network));
  if (unfit !== undefined)
    throw bad(`crawl.privateNetworks has ${JSON.stringify(unfit)}, not a network such as 10.20.0.0/16`);
  return { privateNetworks };
}

function isNetwork(value: unknown): boolean {
  const [, address = '', prefix] = /^([^/%]+)\/(\d{1,3})$/.exec(String(value)) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}

/** The programs that read documents take some 100 MB themselves. */
const DOCUMENT_MEMORY_MIN = 128_000_000;

function parseIndexSettings(value: unknown, bad: (detail: string) => PinakesError): IndexSettings | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value)) throw bad('index is not a mapping');
  for (const name of Object.keys(value)) if (name !== 'documentMemory') throw bad(`index has no setting ${name}`);
  if (value.documentMemory === undefined) return {};
  const documentMemory = bytesOf(value.documentMemory);
  if (!(documentMemory >= DOCUMENT_MEMORY_MIN)) {
    throw bad('index.documentMemory is a number of bytes, or a size like 512MB, from 128MB on');
  }
  return { documentMemory };
}

const UNITS: Readonly<Record<string, number>> = { '': 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** The bytes of a size; NaN when the text is not a size. */
function bytesOf(size: unknown): number {
  const [, number = '', unit = ''] = /^(\d+)\s*([a-z]*)$/i.exec(String(size)) ?? [];
  return number === '' ? Number.NaN : Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Writes the connector durably. A crash leaves the old one or the new one. */
export async function writeConnector(directory: string, connector: Connector): Promise<void> {
  const path = join(directory, CONNECTOR_NAME);
  const text = `# A Pinakes archive. The segments of its volumes are the truth; keep them and this file.\n${stringify(contentOf(connector))}`;
  await replaceFile(path, text).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
}

/** What is written of a connector: defaults are left out, and so is what the database of a cluster has. */
function contentOf(connector: Connector): Partial<Connector> {
  const { version, name, catalog, id } = connector;
  return catalog === undefined ? settingsOf(connector) : { version, name, catalog, ...(id !== undefined && { id }) };
}

/** The volumes and policies of a connector, without defaults. */
export function settingsOf({ catalog: _, crawl, mirrors = [], ...always }: Connector): Partial<Connector> {
  return { ...always, ...(crawl.privateNetworks.length > 0 && { crawl }), ...(mirrors.length > 0 && { mirrors }) };
}
