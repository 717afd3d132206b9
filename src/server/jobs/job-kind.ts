/** Kinds of jobs: the work that the server can do in the background. */
import type { Static, TSchema } from 'typebox';
import type { PinakesError } from '../../base/index.ts';
import type { JobWork, RunningJob } from '../../jobs/index.ts';

/** `input` was checked against the schema of the kind before the job was accepted. */
export type JobContext = RunningJob;

export type JobKind = JobWork & {
  /** add, crawl, compact, verify, export, delete, takedown, rebuild. */
  readonly name: string;
  readonly input: TSchema;
  /** Jobs of one lane run one after another. The default is `write`. (The archive orders its changes itself.) */
  readonly lane?: string;
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
