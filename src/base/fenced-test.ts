/**
 * Runs regular expressions that people hand in. Some take the engine forever, as with repetitions inside of repetitions, and nothing else of the process would run meanwhile, not even its
 * interruption; so they run inside a fence that stops them.
 */
import { createContext, Script } from 'node:vm';

const fence = createContext({ values: [] as readonly string[], expression: /^/ });
const test = new Script('values.map((value) => expression.test(value))');

/** Whether each of the values matches; undefined when that takes longer than it may. */
export function fencedTest(expression: RegExp, values: readonly string[], msMax: number): boolean[] | undefined {
  try {
    fence.values = values;
    fence.expression = expression;
    return test.runInContext(fence, { timeout: msMax }) as boolean[];
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return undefined;
  } finally {
    fence.values = [];
  }
}
