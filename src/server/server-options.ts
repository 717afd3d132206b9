/** What a server is made with, what it hands to the part that answers /api, and what it gives back. */
import type { IncomingMessage } from 'node:http';
import type { Archive } from '../archive/index.ts';
import type { Clock, EpochMs, IdSource } from '../base/index.ts';
import type { ReplayOrigins } from '../replay/index.ts';
import type { ClientTimeouts } from './http/listening-socket.ts';
import type { CommandRunner, JobKind } from './jobs/job-kind.ts';

/**
 * One answered request, for the access log. Nothing in it is secret: no fields of the request but those named, and
 * never a token.
 */
export type AccessLine = {
  readonly time: EpochMs;
  readonly address: string;
  readonly method: string;
  /** Path and query as received, shortened. */
  readonly target: string;
  readonly protocol: string;
  readonly status: number;
  readonly bytes: number;
  readonly milliseconds: number;
  readonly socket: 'ui' | 'replay' | 'command';
  readonly agent: string;
  readonly referrer: string;
};

export type ServerOptions = {
  readonly archive: Archive;
  readonly host: string;
  /** For the web page and the API; 0 for any that is free. */
  readonly port: number;
  /** For what archived pages consist of. An origin of its own, so that archived scripts reach nothing else. */
  readonly replayPort: number;
  /** Where browsers find the two, when that is not where they listen: `https://archive.example.org`. */
  readonly uiOrigin?: string;
  readonly replayOrigin?: string;
  /** The built web page; without it only the APIs and the replay are there. */
  readonly uiDirectory?: string;
  /** Who writes must show it. */
  readonly token: string;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly version: string;
  /** How the command line is typed on this machine; `pinakes` when absent. */
  readonly program?: string;
  readonly jobKinds: readonly JobKind[];
  readonly runCommand?: CommandRunner;
  /** Directories that files may be added from by their paths; without it, from anywhere that the server may read. */
  readonly addRoots?: readonly string[];
  /** The largest upload that is taken; without it, as much as the disk has room for. */
  readonly uploadBytesMax?: number;
  /**
   * Addresses and networks (`172.18.0.0/16`) of proxies, whose connections are those of many clients and are not
   * bounded.
   */
  readonly proxies?: readonly string[];
  /** How long clients are waited for; each part has a default. */
  readonly timeouts?: Partial<ClientTimeouts>;
  /** Milliseconds that only grow, with fractions, for latencies; the clock when absent. */
  readonly stopwatch?: () => number;
  /** Whether the search index is kept up with the archive in the background. */
  readonly isIndexing?: boolean;
  /** That stopped working, told in a sentence; once for each reason. The server goes on. */
  readonly onIndexFailure?: (sentence: string) => void;
  readonly onAccess?: (line: AccessLine) => void;
  /** A request failed by a fault of ours; the client is told so without particulars. */
  readonly onFailure?: (error: unknown) => void;
};

export type RunningServer = {
  /** Where the web page is: `http://localhost:8080`. */
  readonly uiUrl: string;
  readonly replayUrl: string;
  /** Where the sockets listen, which differs from the above behind a proxy. */
  readonly uiAddress: string;
  readonly replayAddress: string;
  /** The path of the socket that takes commands; undefined when the server runs none. */
  readonly commandPath: string | undefined;
  /**
   * Takes no more requests, lets those under way end, asks jobs to stop at a safe point. The archive stays open.
   * `force` breaks off what is left.
   */
  close(options?: { force?: AbortSignal }): Promise<void>;
};

/** What the part that answers /api gets. */
export type ApiParts = {
  readonly archive: Archive;
  readonly token: string;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly version: string;
  readonly program: string;
  readonly uiOrigin: string;
  /** Where the one who asks finds the web page and archived pages. */
  readonly originsFor: (request: IncomingMessage) => ReplayOrigins;
  readonly jobKinds: readonly JobKind[];
  readonly runCommand: CommandRunner | undefined;
  /** True for a request that arrived over the command socket. */
  readonly isCommand: (request: IncomingMessage) => boolean;
  readonly addRoots?: readonly string[] | undefined;
  readonly uploadBytesMax?: number | undefined;
  readonly stopwatch?: (() => number) | undefined;
  readonly isIndexing?: boolean | undefined;
  readonly onIndexFailure?: ((sentence: string) => void) | undefined;
};

export type ApiHandle = {
  /** Jobs by state, for the metrics. */
  jobCounts(): Readonly<Record<string, number>>;
  /**
   * Asks jobs and event streams to stop at a safe point; settles when none is left. `force` asks them to stop at once.
   */
  stop(force: AbortSignal): Promise<void>;
};
