/** Kinds of jobs with the type of their input, and what their reports share. */
import type { Static, TSchema } from 'typebox';
import type { PinakesError } from '../../base/index.ts';
import type { JobContext, JobKind } from './job-kind.ts';

/** How many of many are told in a report. */
export const TOLD_MAX = 100;

type KindDefinition<T extends TSchema> = {
  readonly name: string;
  readonly lane?: string;
  readonly isCancellable?: boolean;
  readonly input: T;
  readonly run: (context: JobContext, input: Static<T>) => Promise<unknown>;
};

export function kindOfJob<T extends TSchema>({ name, lane, isCancellable, input, run }: KindDefinition<T>): JobKind {
  return {
    name,
    input,
    ...(lane !== undefined && { lane }),
    ...(isCancellable !== undefined && { isCancellable }),
    run: (context) => run(context, context.input as Static<T>),
  };
}

export function toldFailures(failures: readonly PinakesError[]): { code: string; message: string }[] {
  return failures.slice(0, TOLD_MAX).map(({ code, message }) => ({ code, message }));
}
