/**
 * What the server needs to know of work that runs in it: kinds of jobs, and commands of the command line that run here.
 */
import type { TSchema } from 'typebox';
import type { Archive } from '../../archive/index.ts';

export type JobProgress = {
  readonly done: number;
  readonly total?: number;
  /** `bytes`, `captures`, `pages`. */
  readonly unit: string;
  readonly message?: string;
  readonly detail?: Readonly<Record<string, number | string>>;
};

export type JobContext = {
  readonly archive: Archive;
  readonly jobId: string;
  /** As the kind's schema has it; checked before the job is taken. */
  readonly input: unknown;
  readonly signal: AbortSignal;
  progress(progress: JobProgress): void;
  /** A line for the job's log. */
  say(line: string): void;
  /** What came of it so far, which is kept however the job ends. */
  report(report: unknown): void;
  /** A directory for what the job writes on the way; removed when it ends. */
  readonly scratch: string;
};

export type JobKind = {
  /** add, crawl, compact, verify, export, delete, rebuild. */
  readonly name: string;
  readonly input: TSchema;
  /**
   * Jobs of one lane run one after another; `write` unless told. What a job changes, it changes through the archive's
   * own order in any case.
   */
  readonly lane?: string;
  /** False for work that must not be left half-way while the archive is in use. */
  readonly isCancellable?: boolean;
  /** Answers with the report, which must be JSON. */
  run(context: JobContext): Promise<unknown>;
};

/** A command line that is to run in the server's process. */
export type RemoteCommand = {
  readonly argv: readonly string[];
  readonly directory: string;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly signal: AbortSignal;
  stdout(bytes: Uint8Array): Promise<void>;
  stderr(bytes: Uint8Array): Promise<void>;
  /** The standard input of the person's own process, asked for piece by piece. */
  stdin(): AsyncIterable<Uint8Array>;
  /** Asks the person; undefined when nobody is there. */
  ask(question: string): Promise<string | undefined>;
  /** How far it is, in a line, for those who watch it as a job. */
  status(text: string): void;
  /** What came of it, as JSON, for those who watch it as a job. */
  report(report: object): void;
  /** Called by a command that looks and asks first, before it changes anything: from here on it is a job. */
  begins(): Promise<void>;
};

/** Runs it and answers with the exit code. */
export type CommandRunner = (command: RemoteCommand) => Promise<number>;
