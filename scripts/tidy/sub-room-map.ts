/**
 * The folders of rooms, and which folder may import which. Two folders never import each other, directly or through
 * other folders. Files directly in a room belong to the whole room: every folder may import them, and they may import
 * every folder. Unit tests may import everything in their room.
 */

/** The maximum number of source files directly in one folder of src/, without tests. */
export const FOLDER_FILES_MAX = 30;

/** Room -> folder -> the folders it may import. */
export const SUB_ROOM_IMPORTS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  archive: {
    segment: [],
    revisit: ['segment'],
    read: ['revisit', 'segment'],
    write: ['read', 'revisit', 'segment'],
    add: ['revisit', 'segment', 'write'],
    stream: ['read', 'revisit', 'segment', 'write'],
    export: ['read', 'revisit', 'segment', 'stream'],
    takedown: [],
    cluster: ['revisit', 'segment', 'stream'],
    maintain: ['cluster', 'read', 'revisit', 'segment', 'stream', 'takedown', 'write'],
    move: ['cluster', 'maintain', 'segment', 'stream'],
    mirror: ['maintain', 'read', 'segment', 'takedown'],
    proof: ['maintain', 'mirror', 'read', 'takedown'],
    balance: ['maintain', 'mirror', 'read', 'revisit', 'segment', 'stream', 'write'],
    verify: ['maintain', 'read', 'revisit', 'segment', 'stream'],
  },
  catalog: { level: [], postgres: [] },
  cli: {
    archive: ['warc'],
    crawl: [],
    demo: ['serve'],
    search: [],
    serve: ['archive', 'crawl', 'search'],
    slim: [],
    warc: [],
  },
  crawl: {
    fetch: [],
    links: ['fetch'],
    frontier: ['links'],
    'frontier/sqlite': ['frontier', 'links'],
    'frontier/postgres': ['frontier', 'links'],
    politeness: ['fetch', 'frontier', 'links'],
    browser: ['frontier', 'links', 'politeness'],
  },
  jobs: { files: [], postgres: [] },
  ledger: { commit: [], replacement: [], recovery: ['replacement'] },
  page: { html: [], office: ['html'], pdf: ['html'], feeds: ['html', 'office'] },
  replay: { choose: [], rewrite: [], 'in-page': [] },
  search: { sqlite: [], query: ['sqlite'] },
  server: {
    telemetry: [],
    tokens: [],
    http: ['tokens'],
    people: ['http', 'tokens'],
    audit: ['http', 'tokens'],
    objects: [],
    jobs: ['http'],
    cdx: ['http'],
    replay: ['http', 'people'],
    contents: ['http', 'tokens'],
    api: ['audit', 'contents', 'http', 'jobs', 'people', 'telemetry', 'tokens'],
    s3: ['http', 'objects'],
  },
  slim: { manifest: [], plan: ['manifest'], rewrite: ['plan'], run: ['manifest', 'plan', 'rewrite'] },
  volume: { directory: [], linked: ['directory', 'remote'], remote: ['s3'], s3: [] },
  warc: {
    record: [],
    member: ['record'],
    http: ['member', 'record'],
    read: ['http', 'member', 'record'],
    write: ['member', 'read', 'record'],
    scan: ['member', 'read', 'record'],
    cdx: ['http', 'read', 'record'],
    wacz: ['cdx', 'member'],
  },
};

/** The folder of a path inside its room; '' for files directly in the room, undefined outside of rooms. */
export function subRoomOf(path: string): string | undefined {
  const parts = path.split('/');
  if (parts[0] !== 'src' || parts.length < 3) return undefined;
  return parts.slice(2, -1).join('/');
}
