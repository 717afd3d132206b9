/** Failures of jobs as errors in their replies, and refusals of jobs as replies to requests. */
import { PinakesError } from '../../base/index.ts';
import type { JobError, JobErrors } from '../../jobs/index.ts';
import { HttpProblem, SERVER_STOPPING } from '../http/problem.ts';

export const JOB_ERRORS: JobErrors = {
  errorOf: jobErrorOf,
  refusal: (why) => new HttpProblem(why === 'stopping' ? SERVER_STOPPING : TOO_MANY_JOBS),
};

export const NOT_CANCELLABLE = {
  status: 409,
  code: 'NOT_CANCELLABLE',
  message: 'this job cannot be stopped before it is done',
  advice: 'Wait until it is done.',
};

const TOO_MANY_JOBS = {
  status: 429,
  code: 'TOO_MANY_JOBS',
  message: 'too many jobs are waiting',
  advice: 'Wait until some jobs are done, or cancel some.',
};

function jobErrorOf(error: unknown): JobError {
  if (error instanceof PinakesError || error instanceof HttpProblem) {
    const { code, message, advice, where } = error instanceof HttpProblem ? error.problem : error;
    return { code, message, advice, ...(where !== undefined && { where }) };
  }
  return {
    code: 'INTERNAL',
    message: `an unexpected error in Pinakes: ${error instanceof Error ? error.message : String(error)}`,
    advice: 'This is a bug in Pinakes. Please report it.',
  };
}
