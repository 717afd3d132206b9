/**
 * Runs regular expressions that people hand in. Some take the engine forever, as with repetitions inside of
 * repetitions, and nothing else of the process would run meanwhile, not even its interruption; so they run inside a
 * fence that stops them.
 */
import { createContext, Script } from 'node:vm';

export type ExpressionTest = { readonly expression: RegExp; readonly values: readonly string[] };

const fence = createContext({ tests: [] as readonly ExpressionTest[] });
const run = new Script('tests.map(({ expression, values }) => values.map((value) => expression.test(value)))');

/** Whether each of the values of each test matches; undefined when all of that together takes longer than it may. */
export function boundedTests(tests: readonly ExpressionTest[], msMax: number): boolean[][] | undefined {
  try {
    fence.tests = tests;
    return run.runInContext(fence, { timeout: msMax }) as boolean[][];
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  } finally {
    fence.tests = [];
  }
}

/** The same for one expression. */
export function boundedTest(expression: RegExp, values: readonly string[], msMax: number): boolean[] | undefined {
  return boundedTests([{ expression, values }], msMax)?.[0];
}
