/** The signals that stop a server: the first asks it to end its requests, the second breaks them off. */
import { whenAborted } from '../../base/index.ts';
import type { CommandContext } from '../command.ts';

export type StopSignals = {
  /** Resolves with the first signal. */
  readonly asked: Promise<void>;
  /** Aborts with the second signal: running requests and jobs are aborted. */
  readonly force: AbortSignal;
  /** Removes the handlers, so that a signal ends the process again. */
  readonly end: () => void;
};

export function listenForStop({ terminal, signal }: CommandContext): StopSignals {
  const asked = Promise.withResolvers<void>();
  const force = new AbortController();
  let signals = 0;
  const onSignal = () => {
    signals++;
    if (signals === 1) {
      terminal.say('pinakes: stopping; press Ctrl-C again to force it');
      asked.resolve();
    } else force.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  whenAborted(signal, asked.resolve);
  const end = () => process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  return { asked: asked.promise, force: force.signal, end };
}
