/**
 * Runs regular expressions written by users, with a time limit. Some expressions, such as nested repetitions, would run
 * for ever and block the process, Ctrl-C included. So expressions run in a context of `node:vm`, which can be stopped.
 */
import { createContext, Script } from 'node:vm';

export type ExpressionTest = { readonly expression: RegExp; readonly values: readonly string[] };

const context = createContext({ tests: [] as readonly ExpressionTest[] });
const run = new Script('tests.map(({ expression, values }) => values.map((value) => expression.test(value)))');

/** For each test, whether each value matches; undefined when all tests together take longer than `msMax`. */
export function boundedTests(tests: readonly ExpressionTest[], msMax: number): boolean[][] | undefined {
  try {
    context.tests = tests;
    return run.runInContext(context, { timeout: msMax }) as boolean[][];
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  } finally {
    context.tests = [];
  }
}

/** Like `boundedTests`, for one expression. */
export function boundedTest(expression: RegExp, values: readonly string[], msMax: number): boolean[] | undefined {
  return boundedTests([{ expression, values }], msMax)?.[0];
}
