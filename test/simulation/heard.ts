/**
 * Hands every answer that a process gets to `process.saw`. What a process does next depends on its answers alone, so
 * two processes with the same ones are at the same point of their code with the same variables. The explorer uses this
 * to run only one of several schedules that arrive at the same state.
 */
import type { Process } from './scheduler.ts';

export function heard<Handle extends object>(handle: Handle, process: Process, viewState: () => string): Handle {
  const saw = <Answer>(answer: Answer): Answer => {
    process.saw(hasMethods(answer) ? viewState() : answer);
    return answer;
  };
  const failed = (error: unknown): never => {
    process.saw(String(error));
    throw error;
  };
  async function* pagesOf<Page>(pages: AsyncGenerator<Page>): AsyncGenerator<Page> {
    try {
      for await (const page of pages) yield saw(page);
    } catch (error) {
      failed(error);
    }
    process.saw('the end');
  }
  return new Proxy(handle, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return saw(member);
      return (...given: unknown[]) => {
        const answer: unknown = Reflect.apply(member, target, given);
        if (answer instanceof Promise) return answer.then(saw, failed);
        return isPages(answer) ? pagesOf(answer) : saw(answer);
      };
    },
  });
}

function hasMethods(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'captures' in answer && typeof answer.captures === 'function';
}

function isPages(answer: unknown): answer is AsyncGenerator<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}
