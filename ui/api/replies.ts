/** Types of the replies of the API. Written by scripts/reply-types.ts; do not edit. */

export type Fault = {
  /** Stable. Programs should check this, not the message. */
  readonly code: string;
  readonly message: string;
  /** What you can do about it. */
  readonly advice: string;
  readonly where?: string;
  /** For a query: the offset of the error, in UTF-16 code units. */
  readonly at?: number;
  /** The length of the error, from `at`. */
  readonly length?: number;
};

export type ErrorReply = {
  readonly error: Fault;
};

/** Of the search index: not updated by this server, waiting for changes, being updated, or failed. */
export type IndexingState = 'off' | 'waiting' | 'working' | 'failed';

export type Info = {
  readonly name: string;
  /** The version of Pinakes. */
  readonly version: string;
  /** How to type the command line on the machine of the server. */
  readonly program: string;
  /** The origin of archived pages. */
  readonly replayOrigin: string;
  readonly capabilities: {
    readonly crawl: boolean;
    readonly search: boolean;
  };
  readonly indexing: {
    /** Of the search index: not updated by this server, waiting for changes, being updated, or failed. */
    readonly state: IndexingState;
    /** The state in words. */
    readonly message: string;
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly caughtUpAt?: string;
    readonly problem?: {
      readonly code: string;
      readonly message: string;
      readonly advice: string;
    };
  };
  readonly jobKinds: readonly string[];
};

export type CollectionStats = {
  readonly collection: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly firstTime: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly lastTime: string;
  readonly captures: number;
  readonly urls: number;
  /** Captures whose content is known. */
  readonly contents: number;
  /** Captures of known content, without one capture for each distinct content. */
  readonly duplicates: number;
  /** Duplicates whose content is also in the previous collection. */
  readonly duplicatesOfPrevious?: number;
  /** URLs that are also in the previous collection. */
  readonly persistentUrls?: number;
};

export type Stats = {
  readonly captures: number;
  /** Distinct contents. */
  readonly blocks: number;
  readonly revisits: number;
  /** Revisits whose content is not in the archive. */
  readonly unresolvedRevisits: number;
  /** Records that violate the standard, in separate segments. */
  readonly oddRecords: number;
  /** Records without a valid date, which are not indexed. */
  readonly undatedRecords: number;
  /** Of all captures, duplicates included. */
  readonly payloadBytes: number;
  /** Of distinct contents. */
  readonly uniquePayloadBytes: number;
  /** Payloads stored in segments. */
  readonly storedPayloadBytes: number;
  /** Size of the segments in the volumes. */
  readonly storedBytes: number;
  /** Deleted, but not yet compacted. */
  readonly deadBytes: number;
  readonly savedByDeduplicationBytes: number;
  /** Negative when record heads take more than compression saves. */
  readonly savedByCompressionBytes: number;
  readonly segments: number;
  readonly catalogBytes: number;
  readonly collections: readonly CollectionStats[];
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly computedAt: string;
};

export type Collection = {
  readonly name: string;
  readonly captures: number;
  readonly revisits: number;
  /** Of all captures, duplicates included. */
  readonly payloadBytes: number;
  /** Of distinct contents of the collection. */
  readonly uniquePayloadBytes: number;
  /** Size in the segments of the records of its captures. */
  readonly storedBytes: number;
  /** Share of duplicates in the captures of known content. */
  readonly duplicateShare: number;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  readonly urls: number;
  /** Captures whose content is known. */
  readonly contents: number;
  /** Captures of known content, without one capture for each distinct content. */
  readonly duplicates: number;
  /** Duplicates whose content is also in the previous collection. */
  readonly duplicatesOfPrevious?: number;
  /** URLs that are also in the previous collection. */
  readonly persistentUrls?: number;
};

export type GrowthPoint = {
  readonly month: string;
  readonly captures: number;
  readonly payloadBytes: number;
  /** Of contents without an earlier capture in the archive. */
  readonly newBytes: number;
  /** Captures whose content has an earlier capture. */
  readonly duplicateCaptures: number;
};

export type Growth = {
  readonly name: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly computedAt: string;
  readonly points: readonly GrowthPoint[];
};

export type Volume = {
  readonly name: string;
  readonly kind: 'directory' | 'linked' | 's3';
  readonly state: 'writable' | 'read-only' | 'linked' | 'missing';
  readonly segments: number;
  readonly bytes: number;
  readonly deadBytes: number;
  readonly freeBytes: number | null;
  readonly totalBytes: number | null;
  /** Why the volume is missing. */
  readonly problem?: string;
};

export type UrlSummary = {
  /** As in its latest capture. */
  readonly url: string;
  /** The SURT key, by which captures are ordered. */
  readonly urlKey: string;
  readonly captures: number;
  /** Distinct contents. */
  readonly distinct: number;
  /** There are more distinct contents than counted. */
  readonly distinctIsLeast?: boolean;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  /** Of the latest capture. */
  readonly mime: string;
};

export type Capture = {
  /** Identifies the capture, even when its record is moved. */
  readonly id: string;
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
  /** HTTP status; 0 without one. */
  readonly status: number;
  /** Media type without parameters; empty when unknown. */
  readonly mime: string;
  readonly kind: 'response' | 'revisit' | 'resource' | 'conversion' | 'metadata';
  /** Identifies the content. Null when it is not known, as for a revisit whose original was never added. */
  readonly contentKey: string | null;
  /** Size of the content. */
  readonly payloadBytes: number | null;
  /** Size of the record of this capture in its segment. */
  readonly storedBytes: number;
  readonly collection: string;
  /** Whether the previous capture of this URL has the same content. */
  readonly sameAsPrevious: boolean;
};

export type ShownCapture = {
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
};

export type Neighbours = {
  readonly current?: ShownCapture;
  readonly previous?: ShownCapture;
  readonly next?: ShownCapture;
};

export type CalendarDay = {
  readonly date: string;
  readonly captures: number;
  /** Captures whose content is known, and differs from the previous known content. */
  readonly changed: number;
  /** The HTTP statuses of the day, sorted; 0 for captures without one. */
  readonly statuses: readonly number[];
};

export type CalendarYear = {
  readonly year: number;
  readonly days: readonly CalendarDay[];
};

export type Calendar = {
  /** As in the latest capture, or as requested when there is none. */
  readonly url: string;
  readonly first: string | null;
  readonly last: string | null;
  readonly captures: number;
  /** Distinct contents. */
  readonly distinct: number;
  /** There are more distinct contents than counted. */
  readonly distinctIsLeast?: boolean;
  readonly years: readonly CalendarYear[];
};

export type CaptureDetail = {
  /** Identifies the capture, even when its record is moved. */
  readonly id: string;
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
  /** HTTP status; 0 without one. */
  readonly status: number;
  /** Media type without parameters; empty when unknown. */
  readonly mime: string;
  readonly kind: 'response' | 'revisit' | 'resource' | 'conversion' | 'metadata';
  /** Identifies the content. Null when it is not known, as for a revisit whose original was never added. */
  readonly contentKey: string | null;
  /** Size of the content. */
  readonly payloadBytes: number | null;
  /** Size of the record of this capture in its segment. */
  readonly storedBytes: number;
  readonly collection: string;
  /** Whether the previous capture of this URL has the same content. */
  readonly sameAsPrevious: boolean;
  readonly recordId?: string;
  readonly place: {
    readonly volume: string;
    readonly segment: string;
    readonly offset: number;
    readonly length: number;
  };
  /** Names and values, in the order and spelling of the record. */
  readonly warcFields: readonly (readonly [string, string])[];
  readonly httpStatusLine?: string;
  /** Names and values, in the order and spelling of the record. */
  readonly httpFields?: readonly (readonly [string, string])[];
  /** The record with the content, and how many captures refer to it. */
  readonly holder?: {
    readonly volume: string;
    readonly segment: string;
    readonly offset: number;
    readonly length: number;
    readonly references: number;
  };
};

export type CaptureText = {
  readonly text: string;
  /** The text continues beyond the limit. */
  readonly truncated: boolean;
  /** The detected charset of the content. */
  readonly charset: string;
};

export type SearchResult = {
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
  readonly title: string;
  readonly snippet: string;
  /** Start and end in the snippet of each matching word, in UTF-16 code units. */
  readonly marks: readonly (readonly [number, number])[];
  /** Higher is better. Comparable within one search only. */
  readonly score: number;
  readonly status: number;
  readonly mime: string;
  readonly language: string;
  readonly collection: string;
  readonly bytes: number;
  /** Of the content. */
  readonly digest: string;
  /** Pages that link to this page. */
  readonly inlinks: number;
  /** PageRank; the mean is 1. */
  readonly rank: number;
  /** Distinct contents of this URL that match. */
  readonly versions: number;
  /** All captures of this URL in the index. */
  readonly captures: number;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
};

export type Facet = {
  readonly value: string;
  readonly count: number;
};

export type SearchPage = {
  readonly items: readonly SearchResult[];
  /** Send as `after`. */
  readonly next?: string;
  readonly total: number;
  /** False when there are more results than were counted. */
  readonly isTotalExact: boolean;
  readonly facets?: {
    readonly site: readonly Facet[];
    readonly type: readonly Facet[];
    readonly language: readonly Facet[];
    readonly year: readonly Facet[];
    readonly collection: readonly Facet[];
  };
  /** By facet: how many values there are besides the twenty most frequent. Without an entry, all values are listed. */
  readonly facetsLeftOut?: Readonly<Record<string, number>>;
  /** The state of the index. `working`: there may be more results soon. */
  readonly indexing: IndexingState;
};

export type LinkEnd = {
  /** The other end. */
  readonly url: string;
  /** `anchor`, `frame`, `image`, `style`, ... */
  readonly kind: string;
  readonly text: string;
  readonly isNofollow: boolean;
  /** Whether the page needs it for display. */
  readonly isEmbed: boolean;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  /** Whether the index has a page at the other end. */
  readonly isKnown: boolean;
};

export type LinkPage = {
  readonly items: readonly LinkEnd[];
  /** Send as `after`. */
  readonly next?: string;
  /** Direction `in`: pages that link to the URL. Direction `out`: links. */
  readonly total: number;
};

export type Appearances = {
  /** Captures of the URL in the index. */
  readonly captures: number;
  /** Captures that match. */
  readonly found: number;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first?: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last?: string;
  /** Spans of time in which all captures match, in order. */
  readonly spans: readonly {
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly from: string;
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly to: string;
    readonly captures: number;
  }[];
  /** False when there are more spans than listed. */
  readonly spansAreAll: boolean;
};

export type Segment = {
  readonly name: string;
  readonly volume: string;
  readonly collection: string;
  readonly state: 'open' | 'sealed';
  /** Up to the last durable record. */
  readonly bytes: number;
  readonly records: number;
  /** Deleted, but not yet compacted. */
  readonly deadBytes: number;
  /** The address of its bytes. */
  readonly href: string;
};

/** The first that is true: missing, rebalancing, storing, streaming, read-only, idle. */
export type NodeState = 'idle' | 'storing' | 'streaming' | 'rebalancing' | 'read-only' | 'missing';

export type Node = {
  readonly name: string;
  readonly kind: 'directory' | 'linked' | 's3';
  /** The directory, the list of linked files, or `s3://bucket/prefix`. */
  readonly path: string;
  /** The address of the server of a bucket. */
  readonly endpoint?: string;
  readonly writable: boolean;
  /** The first that is true: missing, rebalancing, storing, streaming, read-only, idle. */
  readonly state: NodeState;
  readonly segments: number;
  /** Size of its segments. */
  readonly bytes: number;
  /** Bytes of deleted records, which compaction would free. */
  readonly deadBytes: number;
  /** Absent when the volume does not say it, as buckets do. */
  readonly freeBytes?: number;
  /** The size of its disk. */
  readonly totalBytes?: number;
  /** Requests of this server under way, by kind. */
  readonly pending: {
    readonly read: number;
    readonly stream: number;
    readonly write: number;
    readonly sync: number;
    readonly list: number;
  };
  /** What ended in the last minute. */
  readonly lastMinute: {
    readonly requests: number;
    readonly readBytes: number;
    readonly writtenBytes: number;
  };
  /** The last request that failed. */
  readonly lastError?: {
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly time: string;
    readonly code: string;
    readonly message: string;
  };
  /** Why it is missing. */
  readonly failure?: {
    readonly code: string;
    readonly message: string;
    readonly advice: string;
  };
  /** Requests to the server of a bucket since the volume was opened. */
  readonly bucket?: {
    readonly puts: number;
    readonly gets: number;
    readonly heads: number;
    readonly lists: number;
    readonly deletes: number;
    readonly bytesRead: number;
    readonly bytesWritten: number;
    /** Requests that were sent again. */
    readonly retries: number;
    readonly pending: {
      readonly put: number;
      readonly get: number;
      readonly head: number;
      readonly list: number;
      readonly delete: number;
    };
    /** Also when a later try succeeded. */
    readonly lastError?: string;
  };
};

export type Nodes = {
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  readonly nodes: readonly Node[];
};

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export type ActorKind = 'person' | 'token' | 'server' | 'system' | 'anonymous';

export type JobProgress = {
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
  readonly message?: string;
  readonly detail?: Readonly<Record<string, number | string>>;
};

export type Job = {
  readonly id: string;
  /** add, crawl, compact, verify, export, delete, takedown, rebuild. */
  readonly kind: string;
  readonly state: JobState;
  /** `command`: started on the command line. Its input is the command, and only the command line repeats it. */
  readonly origin: 'api' | 'command';
  /** The job is done, but found or left errors. Its report lists them. */
  readonly hasErrors?: boolean;
  /** As it was sent. Send it again to repeat the job. Only with the token. */
  readonly input?: unknown;
  /** Who started it; absent for jobs of schedules. Only for those who may see the job. */
  readonly by?: {
    readonly kind: ActorKind;
    readonly name: string;
  };
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly createdAt: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly startedAt?: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly endedAt?: string;
  /** In a cluster: the name of the server that runs it, ran it, or alone may run it. Only with the token. */
  readonly server?: string;
  /** In a cluster: which time it is that the job runs or will run, from 2 on. */
  readonly attempt?: number;
  readonly progress?: JobProgress;
  /** The results. Only with the token. */
  readonly report?: unknown;
  readonly error?: Fault;
  /** The last lines. Only with the token. */
  readonly log?: readonly string[];
};

/** Selects the captures to delete: those that match every given field. */
export type Deletion = {
  readonly collection?: string;
  readonly url?: string;
  /** URLs that begin with this text; *.example.org for a domain and its subdomains. */
  readonly prefix?: string;
  /** A content key. Alone, it gives back one reference: it selects the newest capture that was stored without a URL. */
  readonly key?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. The end of a range is the end of that year,
   * month, day or second.
   */
  readonly from?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. The end of a range is the end of that year,
   * month, day or second.
   */
  readonly to?: string;
  /** A media type: text/html, or image/* for all images. */
  readonly mime?: string;
  /** An HTTP status: 404, or "4xx" for 400 to 499. Separate several with commas. */
  readonly status?: number | string;
  /** With a key alone: every capture of the content. */
  readonly all?: boolean;
  /** The id of one capture. */
  readonly capture?: string;
};

/** Selects the captures that match every given field. */
export type Selection = {
  readonly collection?: string;
  readonly url?: string;
  /** URLs that begin with this text; *.example.org for a domain and its subdomains. */
  readonly prefix?: string;
  /** Captures with this content key. */
  readonly key?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. The end of a range is the end of that year,
   * month, day or second.
   */
  readonly from?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. The end of a range is the end of that year,
   * month, day or second.
   */
  readonly to?: string;
  /** A media type: text/html, or image/* for all images. */
  readonly mime?: string;
  /** An HTTP status: 404, or "4xx" for 400 to 499. Separate several with commas. */
  readonly status?: number | string;
};

export type DeletePreview = {
  readonly captures: number;
  /** URLs of these captures. */
  readonly addresses: number;
  /** Contents that no capture will refer to any more. */
  readonly contents: number;
  /** Payload bytes of these contents, which compaction will free. */
  readonly contentBytes: number;
  /** Contents that stay because other captures share them. */
  readonly contentsKept: number;
  /** Some of the URLs. */
  readonly examples: readonly string[];
  /** How many captures each of these URLs has in the selection. */
  readonly exampleCaptures: readonly number[];
};

export type PreviewedDelete = {
  readonly preview: DeletePreview;
  /** Proves that this preview was shown. Valid for an hour, unless the selected captures change. */
  readonly token: string;
};

export type Takedowns = {
  /** SHA-256 of the contents, in hexadecimal. */
  readonly contents: readonly string[];
  /** The keys of the URLs. */
  readonly urls: readonly string[];
  /** Captures of what is barred. There are none, unless a takedown was interrupted. */
  readonly captures: number;
  /** Segments that may have the bytes and still grow. */
  readonly unsealed: readonly string[];
  /** Segments that have the bytes until they are compacted. */
  readonly uncompacted: readonly string[];
  /** Whether no segment has bytes of what is barred. */
  readonly isGone: boolean;
};

export type TakedownPreview = {
  /** Captures that would be deleted. */
  readonly captures: number;
  /** Contents that would be barred. */
  readonly contents: number;
  /** URLs that would be barred. */
  readonly urls: number;
  /** URLs of some of the captures. */
  readonly examples: readonly string[];
};

export type TakedownSearch = {
  /** The number of the signed statement in the log. */
  readonly id: number;
  readonly time: string;
  readonly by: string;
  /** SHA-256 of the statement. */
  readonly digest: string;
  /** Places with bytes of it. */
  readonly found: number;
  /** Places and files that could not be searched. */
  readonly unsearched: number;
  readonly places: readonly {
    readonly place: string;
    readonly files: number;
    readonly records: number;
    readonly bytes: number;
  }[];
  /** Whether everything was searched and nothing was found. */
  readonly isGone: boolean;
};

export type TakedownEntry = {
  /** The number of its entry in the log. */
  readonly id: number;
  readonly time: string;
  readonly by: string;
  readonly reason: string;
  /** What is barred: `sha256:<hex>`. */
  readonly contents: readonly string[];
  /** The keys of the URLs that are barred. */
  readonly urls: readonly string[];
  /** Captures that were found before it. */
  readonly captures: number;
  readonly collections: readonly string[];
  /** Segments that had the records or the contents. */
  readonly segments: readonly string[];
  /** False: it was interrupted, and can be asked for again. */
  readonly isDone: boolean;
  /** SHA-256 of the entry. */
  readonly digest: string;
  /** Fingerprint of the key that signed it. */
  readonly key: string | null;
  /** Why the entry is not what the archive wrote. */
  readonly problem: string | null;
  /** The last search for its bytes. */
  readonly search: TakedownSearch | null;
};

export type TakedownLog = {
  readonly takedowns: readonly TakedownEntry[];
  /** What was changed or is missing in the log. */
  readonly problems: readonly string[];
  readonly keys: readonly {
    readonly fingerprint: string;
    readonly from: number;
  }[];
};

export type TakedownDetails = {
  /** The number of its entry in the log. */
  readonly id: number;
  readonly time: string;
  readonly by: string;
  readonly reason: string;
  /** What is barred: `sha256:<hex>`. */
  readonly contents: readonly string[];
  /** The keys of the URLs that are barred. */
  readonly urls: readonly string[];
  /** Captures that were found before it. */
  readonly captures: number;
  readonly collections: readonly string[];
  /** Segments that had the records or the contents. */
  readonly segments: readonly string[];
  /** False: it was interrupted, and can be asked for again. */
  readonly isDone: boolean;
  /** SHA-256 of the entry. */
  readonly digest: string;
  /** Fingerprint of the key that signed it. */
  readonly key: string | null;
  /** Why the entry is not what the archive wrote. */
  readonly problem: string | null;
  /** The last search for its bytes. */
  readonly search: TakedownSearch | null;
  /** The first captures. */
  readonly listed: readonly {
    readonly url: string;
    readonly time: string;
    readonly collection: string;
    readonly segment: string;
    readonly content?: string;
  }[];
  /** Contents of these captures that other captures keep. */
  readonly kept: readonly {
    readonly content: string;
    readonly captures: number;
  }[];
};

export type CapturesStored = {
  readonly stored: number;
  /** Captures that the archive had from an earlier request with the same ids. */
  readonly known: number;
  /** Captures whose contents have to be sent first. */
  readonly missing: readonly number[];
  /** Captures that were stored by an earlier request and deleted since. */
  readonly deleted: readonly number[];
  readonly refused: readonly {
    readonly index: number;
    readonly code: string;
    readonly message: string;
  }[];
  readonly keys?: readonly string[];
};

export type RecordsAdded = {
  /** P frames whose contents have to be sent. If there are any, nothing was added. */
  readonly missing: readonly number[];
  readonly report?: {
    readonly records: number;
    readonly captures: number;
    readonly capturesKnown: number;
    readonly capturesDeleted: number;
    readonly capturesBarred: number;
    readonly unresolved: number;
    readonly undated: number;
    readonly filesKnown: number;
    readonly deletedSince: number;
    readonly duplicates?: number;
    readonly duplicateBytes?: number;
  };
};

export type ContentReceived = {
  /** Bytes that have arrived, as they were sent. Without it all have. */
  readonly received?: number;
};

/** Who asks: a person who is signed in, a named token, the token of the server, or nobody known. */
export type SessionKind = 'person' | 'token' | 'server' | 'anonymous';

export type Role = 'reader' | 'curator' | 'administrator';

export type Right = 'read' | 'add' | 'crawl' | 'delete' | 'admin';

export type Session = {
  /** Who asks: a person who is signed in, a named token, the token of the server, or nobody known. */
  readonly kind: SessionKind;
  /** Of the person or the token. */
  readonly name?: string;
  readonly role?: Role;
  /** What the sender may do. */
  readonly rights: readonly Right[];
  /** Whether reading needs a sign-in or a token too. */
  readonly isPrivate: boolean;
  /** How people sign in; absent when they do not. */
  readonly signIn?: {
    readonly kind: 'oidc' | 'proxy';
    /** The host of the sign-in service. */
    readonly provider?: string;
    /** Where a proxy signs people out. */
    readonly signOutUrl?: string;
  };
};

export type ReplayTicket = {
  /**
   * Of the replay origin. With `&to=/web/...` it lets this browser show archived pages. Valid once, for a minute.
   * Absent where everybody may read.
   */
  readonly path?: string;
};

export type AuditAction =
  | 'add'
  | 'cancel'
  | 'command'
  | 'compact'
  | 'crawl'
  | 'delete'
  | 'export'
  | 'job'
  | 'rebuild'
  | 'serve'
  | 'sign-in'
  | 'sign-out'
  | 'takedown'
  | 'token'
  | 'verify'
  | 'volume';

/** `begun`: a job was accepted. Its end is an entry of its own. */
export type AuditOutcome = 'begun' | 'done' | 'refused' | 'failed' | 'cancelled';

export type AuditEntry = {
  readonly id: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  readonly action: AuditAction;
  readonly who: {
    readonly kind: ActorKind;
    /** The person, the token, or the user of the machine. */
    readonly name: string;
    /** How the sign-in service identifies the person. */
    readonly id?: string;
    readonly role?: string;
  };
  /** Of the client. */
  readonly address?: string;
  /** The route of the API, or the command. */
  readonly route?: string;
  /** Collection, selection, ids, counts. Never a secret. */
  readonly what?: unknown;
  /** `begun`: a job was accepted. Its end is an entry of its own. */
  readonly outcome: AuditOutcome;
  /** Of the error. */
  readonly code?: string;
};
