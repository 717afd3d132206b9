/** Types of the replies of the API. Written by scripts/reply-types.ts; do not edit. */

export type Fault = {
  /** Stable: look at this, not at the sentence. */
  readonly code: string;
  readonly message: string;
  /** What you can do about it. */
  readonly advice: string;
  readonly where?: string;
  /** Of a query: where in it, in UTF-16 code units. */
  readonly at?: number;
  /** How much of it, from `at` on. */
  readonly length?: number;
};

export type ErrorReply = {
  readonly error: Fault;
};

/** Of the search index: left as it is, waiting for changes, taking them in, or not kept up. */
export type IndexingState = 'off' | 'waiting' | 'working' | 'failed';

export type Info = {
  readonly name: string;
  /** Of Pinakes. */
  readonly version: string;
  /** How the command line is typed on the machine of the server. */
  readonly program: string;
  /** Where archived pages are shown from. */
  readonly replayOrigin: string;
  readonly capabilities: {
    readonly crawl: boolean;
    readonly search: boolean;
  };
  readonly indexing: {
    /** Of the search index: left as it is, waiting for changes, taking them in, or not kept up. */
    readonly state: IndexingState;
    /** The same for people. */
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
  /** Of these: all but one of each content. */
  readonly duplicates: number;
  /** Of these: those whose content the collection before has. */
  readonly duplicatesOfPrevious?: number;
  /** URLs that the collection before has. */
  readonly persistentUrls?: number;
};

export type Stats = {
  readonly captures: number;
  /** Distinct contents. */
  readonly blocks: number;
  readonly revisits: number;
  /** Revisits whose content is not in the archive. */
  readonly unresolvedRevisits: number;
  /** Records that break the standard, kept in segments of their own. */
  readonly oddRecords: number;
  /** Records without a usable date, which are in no index. */
  readonly undatedRecords: number;
  /** As captured: every capture counts. */
  readonly payloadBytes: number;
  /** Of distinct contents. */
  readonly uniquePayloadBytes: number;
  /** Payloads that stand in segments. */
  readonly storedPayloadBytes: number;
  /** Segments as they lie in the volumes. */
  readonly storedBytes: number;
  /** Of these: deleted, not yet compacted away. */
  readonly deadBytes: number;
  readonly savedByDeduplicationBytes: number;
  /** Negative when heads weigh more than compression saves. */
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
  /** As captured: every capture counts. */
  readonly payloadBytes: number;
  /** Of contents that are distinct within the collection. */
  readonly uniquePayloadBytes: number;
  /** Records of its captures, as they lie in the segments. */
  readonly storedBytes: number;
  /** Duplicates among captures of known content. */
  readonly duplicateShare: number;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  readonly urls: number;
  /** Captures whose content is known. */
  readonly contents: number;
  /** Of these: all but one of each content. */
  readonly duplicates: number;
  /** Of these: those whose content the collection before has. */
  readonly duplicatesOfPrevious?: number;
  /** URLs that the collection before has. */
  readonly persistentUrls?: number;
};

export type GrowthPoint = {
  readonly month: string;
  readonly captures: number;
  readonly payloadBytes: number;
  /** Of contents that no earlier capture of the archive has. */
  readonly newBytes: number;
  /** Captures whose content an earlier one has. */
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
  readonly kind: 'directory' | 'linked';
  readonly state: 'writable' | 'read-only' | 'linked' | 'missing';
  readonly segments: number;
  readonly bytes: number;
  readonly deadBytes: number;
  readonly freeBytes: number | null;
  readonly totalBytes: number | null;
  /** Why it is missing. */
  readonly problem?: string;
};

export type UrlSummary = {
  /** As its latest capture has it. */
  readonly url: string;
  /** SURT key: what captures are filed under. */
  readonly urlKey: string;
  readonly captures: number;
  /** Distinct contents. */
  readonly distinct: number;
  /** There are more distinct contents than were counted. */
  readonly distinctIsLeast?: boolean;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  /** Of the latest capture. */
  readonly mime: string;
};

export type Capture = {
  /** Names this capture, wherever its record is moved to. */
  readonly id: string;
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
  /** HTTP status; 0 when there is none. */
  readonly status: number;
  /** Media type without parameters; empty when unknown. */
  readonly mime: string;
  readonly kind: 'response' | 'revisit' | 'resource' | 'conversion' | 'metadata';
  /** Names the content; null when it is not known, as of a revisit whose original was never added. */
  readonly contentKey: string | null;
  /** Of the content, as captured. */
  readonly payloadBytes: number | null;
  /** Of the record of this capture, as it lies in its segment. */
  readonly storedBytes: number;
  readonly collection: string;
  /** Whether the capture of this URL before it has the same content. */
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
  /** Captures whose content is known, and not that of the last known one before. */
  readonly changed: number;
  /** The HTTP statuses of the day, sorted; 0 for captures without one. */
  readonly statuses: readonly number[];
};

export type CalendarYear = {
  readonly year: number;
  readonly days: readonly CalendarDay[];
};

export type Calendar = {
  /** As the latest capture has it; as asked for when there is none. */
  readonly url: string;
  readonly first: string | null;
  readonly last: string | null;
  readonly captures: number;
  /** Distinct contents. */
  readonly distinct: number;
  /** There are more distinct contents than were counted. */
  readonly distinctIsLeast?: boolean;
  readonly years: readonly CalendarYear[];
};

export type CaptureDetail = {
  /** Names this capture, wherever its record is moved to. */
  readonly id: string;
  readonly url: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly time: string;
  /** 14 digits: 20240301100000 */
  readonly timestamp: string;
  /** HTTP status; 0 when there is none. */
  readonly status: number;
  /** Media type without parameters; empty when unknown. */
  readonly mime: string;
  readonly kind: 'response' | 'revisit' | 'resource' | 'conversion' | 'metadata';
  /** Names the content; null when it is not known, as of a revisit whose original was never added. */
  readonly contentKey: string | null;
  /** Of the content, as captured. */
  readonly payloadBytes: number | null;
  /** Of the record of this capture, as it lies in its segment. */
  readonly storedBytes: number;
  readonly collection: string;
  /** Whether the capture of this URL before it has the same content. */
  readonly sameAsPrevious: boolean;
  readonly recordId?: string;
  readonly place: {
    readonly volume: string;
    readonly segment: string;
    readonly offset: number;
    readonly length: number;
  };
  /** Names and values, in the order and the spelling of the record. */
  readonly warcFields: readonly (readonly [string, string])[];
  readonly httpStatusLine?: string;
  /** Names and values, in the order and the spelling of the record. */
  readonly httpFields?: readonly (readonly [string, string])[];
  /** The record that holds the content, and how many captures have it. */
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
  /** There is more than this. */
  readonly truncated: boolean;
  /** Of the content, as found. */
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
  /** Start and end in the snippet of each word that was found, in UTF-16 code units. */
  readonly marks: readonly (readonly [number, number])[];
  /** The higher the better; to be compared within one search only. */
  readonly score: number;
  readonly status: number;
  readonly mime: string;
  readonly language: string;
  readonly collection: string;
  readonly bytes: number;
  /** Of the content. */
  readonly digest: string;
  /** Pages that cite this one. */
  readonly inlinks: number;
  /** PageRank; the mean is 1. */
  readonly rank: number;
  /** Contents of this URL that fit. */
  readonly versions: number;
  /** Captures of this URL in the index, whatever their content. */
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
  /** False when more was found than is counted out. */
  readonly isTotalExact: boolean;
  readonly facets?: {
    readonly site: readonly Facet[];
    readonly type: readonly Facet[];
    readonly language: readonly Facet[];
    readonly year: readonly Facet[];
    readonly collection: readonly Facet[];
  };
  /** By facet, how many values it has besides the twenty largest, which are told; absent where all are. */
  readonly facetsLeftOut?: Readonly<Record<string, number>>;
  /** Whether the server is bringing the index up to date: `working` means that there may be more soon. */
  readonly indexing: IndexingState;
};

export type LinkEnd = {
  /** The other end. */
  readonly url: string;
  /** `anchor`, `frame`, `image`, `style`, ... */
  readonly kind: string;
  readonly text: string;
  readonly isNofollow: boolean;
  /** Needed to show the page. */
  readonly isEmbed: boolean;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last: string;
  /** The index has a page at the other end. */
  readonly isKnown: boolean;
};

export type LinkPage = {
  readonly items: readonly LinkEnd[];
  /** Send as `after`. */
  readonly next?: string;
  /** In: pages that link here. Out: links. */
  readonly total: number;
};

export type Appearances = {
  /** Captures of the URL that are in the index. */
  readonly captures: number;
  /** Those that fit. */
  readonly found: number;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly first?: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly last?: string;
  /** Times in which all captures fit, in order. */
  readonly spans: readonly {
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly from: string;
    /** W3C date in UTC: 2024-03-01T10:00:00Z */
    readonly to: string;
    readonly captures: number;
  }[];
  /** False when there are more than are listed. */
  readonly spansAreAll: boolean;
};

export type Segment = {
  readonly name: string;
  readonly volume: string;
  readonly collection: string;
  readonly state: 'open' | 'sealed';
  /** Up to the last record that is durable. */
  readonly bytes: number;
  readonly records: number;
  /** Deleted, not yet compacted away. */
  readonly deadBytes: number;
  /** Where its bytes are. */
  readonly href: string;
};

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export type JobProgress = {
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
  readonly message?: string;
  readonly detail?: Readonly<Record<string, number | string>>;
};

export type Job = {
  readonly id: string;
  /** add, crawl, compact, verify, export, delete, rebuild. */
  readonly kind: string;
  readonly state: JobState;
  /** `command`: begun on the command line; its input is the command, which only the command line can run again. */
  readonly origin: 'api' | 'command';
  /** It is done, and found or left something wrong; its report says what. */
  readonly hasErrors?: boolean;
  /** As it was sent; send it again to run the job again. Only for who shows the token. */
  readonly input?: unknown;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly createdAt: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly startedAt?: string;
  /** W3C date in UTC: 2024-03-01T10:00:00Z */
  readonly endedAt?: string;
  readonly progress?: JobProgress;
  /** What came of it. Only for who shows the token. */
  readonly report?: unknown;
  readonly error?: Fault;
  /** The last lines. Only for who shows the token. */
  readonly log?: readonly string[];
};

/** Which captures are meant. All that is given must hold. */
export type Selection = {
  readonly collection?: string;
  readonly url?: string;
  /** URLs that begin so; *.example.org for a domain with all below it. */
  readonly prefix?: string;
  /** Captures of this content key. */
  readonly key?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. A range ends with the last moment that is
   * meant.
   */
  readonly from?: string;
  /**
   * For example 2024, 2024-03-01, 20240301100000 or 2024-03-01T10:00:00Z. A range ends with the last moment that is
   * meant.
   */
  readonly to?: string;
  /** A media type: text/html, or image/* for all of a kind. */
  readonly mime?: string;
  /** An HTTP status: 404, or "4xx" for all from 400 to 499; several with commas between them. */
  readonly status?: number | string;
};

export type DeletePreview = {
  readonly captures: number;
  /** URLs that they are of. */
  readonly addresses: number;
  /** Contents that nothing will refer to any more. */
  readonly contents: number;
  /** Their payload bytes, which compaction will free. */
  readonly contentBytes: number;
  /** Contents that other captures share, and that stay. */
  readonly contentsKept: number;
  /** Some of the URLs. */
  readonly examples: readonly string[];
  /** How many captures of each of these. */
  readonly exampleCaptures: readonly number[];
};

export type PreviewedDelete = {
  readonly preview: DeletePreview;
  /** Shows that this was seen; good for an hour, while nothing of it changes. */
  readonly token: string;
};
