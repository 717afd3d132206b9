/** The options of a server, and the interface of a running server. */
import type { Archive } from '../archive/index.ts';
import type { Clock, EpochMs, IdSource } from '../base/index.ts';
import type { ClientTimeouts } from './http/listening-socket.ts';
import type { Rate } from './http/rate-limit.ts';
import type { JobKind } from './jobs/job-kind.ts';
import type { CommandRunner } from './jobs/remote-command.ts';
import type { SignInOptions } from './people/sign-in-options.ts';
import type { Telemetry } from './telemetry/telemetry.ts';

/**
 * One answered request, for the access log. It contains no secrets: of the header fields, only user agent and referrer,
 * and never a token.
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
  readonly socket: 'ui' | 'replay' | 'command' | 'volume';
  readonly agent: string;
  readonly referrer: string;
};

export type ServerOptions = {
  readonly archive: Archive;
  readonly host: string;
  /** The port of the web interface and the API; 0 for any free port. */
  readonly port: number;
  /** The port of archived pages. They have an origin of their own, so that archived scripts reach nothing else. */
  readonly replayPort: number;
  /** The origins for browsers, when they differ from the listening addresses: `https://archive.example.org`. */
  readonly uiOrigin?: string | undefined;
  readonly replayOrigin?: string | undefined;
  /** The directory of the built web interface. Without it, the server has no screens. */
  readonly uiDirectory?: string | undefined;
  /** Requests that write must send this token. */
  readonly token: string;
  /** Whether reading needs a token or a sign-in too. */
  readonly isPrivate?: boolean;
  /** How people sign in; undefined: they do not. */
  readonly signIn?: SignInOptions | undefined;
  /** Unix sockets to listen on instead of the ports. `uiOrigin` and `replayOrigin` are needed with them. */
  readonly socketPaths?: { readonly ui: string; readonly replay: string } | undefined;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly version: string;
  /** How to type the command line on this machine; the default is `pinakes`. */
  readonly program?: string;
  readonly jobKinds: readonly JobKind[];
  /** In a cluster: how long a server may be silent before its jobs are those of a dead server; 30 s by default. */
  readonly jobLeaseMs?: number | undefined;
  readonly runCommand?: CommandRunner;
  /**
   * Directories from which jobs may add files by path. Without it, jobs may add every file that the server can read.
   */
  readonly addRoots?: readonly string[] | undefined;
  /** The maximum size of an upload. Without it, the free space of the disk is the limit. */
  readonly uploadBytesMax?: number | undefined;
  /**
   * Addresses and networks (`172.18.0.0/16`) of proxies. A proxy has the connections of many clients, so its
   * connections are not limited.
   */
  readonly proxies?: readonly string[] | undefined;
  /** How many requests one client may send; without it, any number. Clients on this machine are not limited. */
  readonly rate?: Rate | undefined;
  /** How many connections each port may have: 4,096 in all and 512 from one address by default. */
  readonly connections?:
    | { readonly inAllMax?: number | undefined; readonly perAddressMax?: number | undefined }
    | undefined;
  /** How long the server waits for clients. Each field has a default. */
  readonly timeouts?: Partial<ClientTimeouts>;
  /** How long requests and jobs under way may take after the server was asked to stop; 30 s by default. */
  readonly leaveMs?: number | undefined;
  /** Counts what the archive does, which was opened with its `observe`; and sends traces. */
  readonly telemetry?: Telemetry | undefined;
  /** Milliseconds that never go back, with fractions, for latencies; the default is the clock. */
  readonly stopwatch?: () => number;
  /** Whether the server updates the search index in the background. */
  readonly isIndexing?: boolean;
  /** Called with a sentence when indexing fails, once for each reason. The server continues. */
  readonly onIndexFailure?: (sentence: string) => void;
  readonly onAccess?: ((line: AccessLine) => void) | undefined;
  /** Called when the server itself failed a request. The client gets a reply without details. */
  readonly onFailure?: (error: unknown) => void;
};

export type RunningServer = {
  /** The URL of the web interface: `http://localhost:8080`. */
  readonly uiUrl: string;
  readonly replayUrl: string;
  /** Where the sockets listen. Behind a proxy this differs from the URLs. */
  readonly uiAddress: string;
  readonly replayAddress: string;
  /** The path of the command socket; undefined without `runCommand`. */
  readonly commandPath: string | undefined;
  /**
   * Leaves: begins no new work, and waits until the requests under way and the jobs have ended, at most `leaveMs`. Jobs
   * and streams end at their next safe point, and reading goes on. Then it closes the sockets. The archive stays open.
   * `force` ends the wait.
   */
  close(options?: { force?: AbortSignal }): Promise<void>;
};
