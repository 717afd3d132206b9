/** What the server's replies look like. Times are W3C dates; `timestamp` is the same as 14 digits. */
export type Info = {
  readonly name: string;
  readonly version: string;
  /** How the command line is typed on the machine of the server. */
  readonly program: string;
  readonly replayOrigin: string;
  readonly capabilities: { readonly crawl: boolean; readonly search: boolean };
  readonly jobKinds: readonly string[];
  readonly indexing: { readonly state: IndexingState; readonly message: string };
};

export type IndexingState = 'off' | 'waiting' | 'working' | 'failed';

export type List<Item> = { readonly items: readonly Item[]; readonly next?: string };

export type CollectionStats = {
  readonly collection: string;
  readonly firstTime: string;
  readonly lastTime: string;
  readonly captures: number;
  readonly urls: number;
  readonly contents: number;
  readonly duplicates: number;
  readonly duplicatesOfPrevious?: number | null;
  readonly persistentUrls?: number | null;
};

export type Stats = {
  readonly captures: number;
  readonly blocks: number;
  readonly revisits: number;
  readonly unresolvedRevisits: number;
  readonly payloadBytes: number;
  readonly uniquePayloadBytes: number;
  readonly storedPayloadBytes: number;
  readonly storedBytes: number;
  readonly deadBytes: number;
  readonly savedByDeduplicationBytes: number;
  readonly savedByCompressionBytes: number;
  readonly segments: number;
  readonly catalogBytes: number;
  readonly collections: readonly CollectionStats[];
  readonly computedAt: string;
};

export type UrlSummary = {
  readonly url: string;
  readonly urlKey: string;
  readonly captures: number;
  readonly distinct: number;
  readonly first: string;
  readonly last: string;
  readonly mime: string;
};

export type Capture = {
  readonly id: string;
  readonly url: string;
  readonly time: string;
  readonly timestamp: string;
  readonly status: number;
  readonly mime: string;
  readonly kind: string;
  readonly contentKey: string | null;
  readonly payloadBytes: number | null;
  readonly storedBytes: number;
  readonly collection: string;
  readonly sameAsPrevious: boolean;
};

/** What replay shows, without what is stored of it. */
export type ShownCapture = Pick<Capture, 'url' | 'time' | 'timestamp'>;

export type Neighbours = {
  readonly current?: ShownCapture;
  readonly previous?: ShownCapture;
  readonly next?: ShownCapture;
};

export type CaptureDetail = Capture & {
  readonly warcFields: readonly (readonly [string, string])[];
  readonly httpStatusLine?: string;
  readonly httpFields?: readonly (readonly [string, string])[];
};

export type CalendarDay = {
  readonly date: string;
  readonly captures: number;
  readonly changed: number;
  readonly statuses: readonly number[];
};

export type CalendarYear = { readonly year: number; readonly days: readonly CalendarDay[] };

export type Calendar = {
  readonly url: string;
  readonly first: string | null;
  readonly last: string | null;
  readonly captures: number;
  readonly distinct: number;
  readonly years: readonly CalendarYear[];
};

export type CaptureText = { readonly text: string; readonly truncated: boolean; readonly charset: string };

export type Collection = {
  readonly name: string;
  readonly captures: number;
  readonly revisits: number;
  readonly payloadBytes: number;
  readonly uniquePayloadBytes: number;
  readonly storedBytes: number;
  readonly first?: string;
  readonly last?: string;
};

export type GrowthPoint = {
  readonly month: string;
  readonly captures: number;
  readonly payloadBytes: number;
  readonly newBytes: number;
  readonly duplicateCaptures: number;
};

export type Growth = { readonly points: readonly GrowthPoint[] };

export type Segment = {
  readonly name: string;
  readonly volume: string;
  readonly collection: string;
  readonly state: string;
  readonly bytes: number;
  readonly records?: number;
  readonly deadBytes: number;
  readonly href: string;
};

export type Selection = Readonly<Record<string, string | number>>;

export type DeletePreview = {
  readonly captures: number;
  readonly addresses: number;
  readonly contents: number;
  readonly contentBytes: number;
  readonly contentsKept: number;
  readonly examples: readonly string[];
  readonly exampleCaptures: readonly number[];
};

export type PreviewedDelete = { readonly preview: DeletePreview; readonly token: string };

export type JobState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export type JobProgress = {
  readonly done: number;
  readonly total?: number;
  readonly unit: string;
  readonly message?: string;
  readonly detail?: Readonly<Record<string, number | string>>;
};

export type Fault = {
  readonly code: string;
  readonly message: string;
  readonly advice?: string;
  readonly where?: string;
  readonly at?: number;
  readonly length?: number;
};

export type Job = {
  readonly id: string;
  readonly kind: string;
  readonly state: JobState;
  /** `command`: begun on the command line, which alone can run it again. */
  readonly origin?: 'api' | 'command';
  /** It is done, and found or left something wrong. */
  readonly hasErrors?: boolean;
  /** With the token only, like report, error and log. */
  readonly input?: unknown;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  readonly progress?: JobProgress;
  readonly report?: unknown;
  readonly error?: Fault;
  readonly log?: readonly string[];
};

export type SearchResult = {
  readonly url: string;
  readonly time: string;
  readonly timestamp: string;
  readonly title: string;
  readonly snippet: string;
  readonly marks: readonly (readonly [start: number, end: number])[];
  readonly status: number;
  readonly mime: string;
  readonly language: string;
  readonly collection: string;
  readonly inlinks: number;
  readonly versions: number;
  readonly captures: number;
  readonly first: string;
  readonly last: string;
};

export type Facet = { readonly value: string; readonly count: number };

export type SearchPage = List<SearchResult> & {
  readonly total: number;
  readonly isTotalExact: boolean;
  readonly facets?: Readonly<Record<'site' | 'type' | 'language' | 'year' | 'collection', readonly Facet[]>>;
  readonly facetsLeftOut?: Readonly<Record<string, number>>;
  readonly indexing: IndexingState;
};

export type LinkEnd = {
  readonly url: string;
  readonly kind: string;
  readonly text: string;
  readonly isNofollow: boolean;
  readonly isEmbed: boolean;
  readonly first: string;
  readonly last: string;
  readonly isKnown: boolean;
};

export type LinkPage = List<LinkEnd> & { readonly total: number };

export type Appearances = {
  readonly captures: number;
  readonly found: number;
  readonly first?: string;
  readonly last?: string;
  readonly spans: readonly { readonly from: string; readonly to: string; readonly captures: number }[];
  readonly spansAreAll: boolean;
};

/** A JSON schema, as far as forms are made of it. */
export type Schema = {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  /** What a choice that is left open means. */
  readonly unset?: string;
  /** What the values of a choice are called. */
  readonly names?: Readonly<Record<string, string>>;
  /** How many of the server's units, like milliseconds, are one of those that people type, like minutes. */
  readonly unit?: number;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
};
