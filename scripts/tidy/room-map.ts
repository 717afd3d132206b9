/**
 * The rooms that each room may import, and the rooms that may import each package. ARCHITECTURE.md gives the reasons,
 * and this map is enforced.
 */

/** Room -> the rooms it may import, always through their index.ts. */
export const ROOM_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  client: [],
  url: ['base'],
  warc: ['base', 'url'],
  volume: ['base'],
  database: ['base'],
  catalog: ['base', 'url', 'database'],
  ledger: ['base', 'url', 'warc', 'volume', 'catalog'],
  archive: ['base', 'url', 'warc', 'volume', 'database', 'catalog', 'ledger'],
  jobs: ['base', 'database', 'archive'],
  slim: ['base', 'url', 'warc'],
  page: ['base', 'url', 'warc'],
  search: ['base', 'url', 'warc', 'page', 'archive'],
  crawl: ['base', 'url', 'warc', 'page', 'database', 'archive'],
  replay: ['base', 'url', 'warc', 'page', 'archive'],
  server: [
    'base',
    'url',
    'warc',
    'volume',
    'database',
    'catalog',
    'archive',
    'jobs',
    'slim',
    'page',
    'search',
    'crawl',
    'replay',
  ],
  cli: [
    'base',
    'client',
    'url',
    'warc',
    'volume',
    'database',
    'catalog',
    'archive',
    'jobs',
    'slim',
    'page',
    'search',
    'crawl',
    'replay',
    'server',
  ],
};

/** The room that may print, exit, and read the clock and random numbers of the machine. */
export const PRINTING_ROOM = 'cli';

/** The front door of the library, src/index.ts, may import every room except the command line. */
export const LIBRARY_IMPORTS: readonly string[] = Object.keys(ROOM_IMPORTS).filter((room) => room !== PRINTING_ROOM);

/**
 * Package -> the rooms whose code may import it. Unit tests and files outside of src/ may also use development
 * packages.
 */
export const PACKAGE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['volume'],
  '@duckdb/node-api': ['slim', 'archive'],
  '@webrecorder/wombat': ['replay'],
  'classic-level': ['catalog'],
  '@opentelemetry/api': ['server'],
  '@opentelemetry/exporter-trace-otlp-http': ['server'],
  '@opentelemetry/resources': ['server'],
  '@opentelemetry/sdk-trace': ['server'],
  commander: ['cli'],
  croner: ['crawl'],
  'css-tree': ['page', 'replay'],
  eld: ['page'],
  // Needed in a checkout, because the published package has the bundles.
  esbuild: ['replay'],
  fastify: ['server'],
  htmlparser2: ['page', 'replay'],
  pg: ['database'],
  'pg-copy-streams': ['catalog'],
  'openid-client': ['server'],
  'playwright-core': ['crawl'],
  'prom-client': ['server'],
  tldts: ['crawl'],
  typebox: ['server'],
  unpdf: ['page'],
  yaml: ['archive'],
  yauzl: ['warc'],
  yazl: ['warc'],
};

/** Browser code under src/. It is bundled, so it imports only its own files, and other code does not import it. */
export const BROWSER_FOLDER = 'src/replay/in-page';

export function isBrowserCode(path: string): boolean {
  return path.startsWith(`${BROWSER_FOLDER}/`);
}

/**
 * True if files outside of a room may import this file: the front door of the room, and for the command line also the
 * program.
 */
export function isFrontDoor(path: string): boolean {
  return path === 'src/index.ts' || path === 'src/cli/main.ts' || /^src\/[^/]+\/index\.ts$/.test(path);
}

/** The room of a path: '' for files directly under src/, undefined outside of src/. */
export function roomOf(path: string): string | undefined {
  const parts = path.split('/');
  if (parts[0] !== 'src') return undefined;
  return parts.length > 2 ? parts[1]! : '';
}

export function isTest(path: string): boolean {
  return /\.test\.[cm]?[jt]sx?$/.test(path);
}
