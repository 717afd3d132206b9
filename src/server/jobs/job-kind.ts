/** Kinds of jobs: the work that the server can do in the background. */
import type { Static, TSchema } from 'typebox';
import type { Archive } from '../../archive/index.ts';
import type { PinakesError } from '../../base/index.ts';

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
  /** Checked against the schema of the kind before the job is accepted. */
  readonly input: unknown;
  readonly signal: AbortSignal;
  progress(progress: JobProgress): void;
  /** Adds a line to the log of the job. */
  say(line: string): void;
  /** Sets the report so far. The report is kept even when the job fails or is cancelled. */
  report(report: unknown): void;
  /** A directory for temporary files. It is removed when the job ends. */
  readonly scratch: string;
};

export type JobKind = {
  /** add, crawl, compact, verify, export, delete, takedown, rebuild. */
  readonly name: string;
  readonly input: TSchema;
  /** Jobs of one lane run one after another. The default is `write`. (The archive orders its changes itself.) */
  readonly lane?: string;
  /** False for work that must not be left half done while the archive is in use. */
  readonly isCancellable?: boolean;
  /** Returns the report, which must be JSON. */
  run(context: JobContext): Promise<unknown>;
};

/** How many problems or failures a report lists at most. */
export const LISTED_MAX = 100;

type KindDefinition<T extends TSchema> = Omit<JobKind, 'input' | 'run'> & {
  readonly input: T;
  readonly run: (context: JobContext, input: Static<T>) => Promise<unknown>;
};

/** Makes a kind whose `run` gets its input with the type of the schema. */
export function defineJobKind<T extends TSchema>({ run, ...kind }: KindDefinition<T>): JobKind {
  return { ...kind, run: (context) => run(context, context.input as Static<T>) };
}

/** The first failures, as a report lists them. */
export function listedFailures(failures: readonly PinakesError[]): { code: string; message: string }[] {
  return failures.slice(0, LISTED_MAX).map(({ code, message }) => ({ code, message }));
}
