/**
 * The signals that stop a server: the first asks it to end its requests, the second breaks them off. A server that has
 * not closed its archive soon after the second, for example because its database does not answer, is ended as it is,
 * which loses nothing that was acknowledged (I2).
 */
import { whenAborted } from '../../base/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_INTERRUPTED } from '../outcome.ts';

const FORCED_MS = 2000;

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
      terminal.say('pinakes: stopping; a second signal, or Ctrl-C again, forces it');
      asked.resolve();
    } else if (signals === 2) {
      force.abort();
      setTimeout(() => process.exit(EXIT_INTERRUPTED), FORCED_MS).unref();
    } else process.exit(EXIT_INTERRUPTED);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  whenAborted(signal, asked.resolve);
  const end = () => process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  return { asked: asked.promise, force: force.signal, end };
}
