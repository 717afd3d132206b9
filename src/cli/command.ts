/** What every command gets: where to print, when to stop, the time, fresh ids, the version. */
import type { Clock, IdSource } from '../base/index.ts';
import type { Terminal } from './terminal.ts';

export type CommandContext = {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** `pinakes/0.1.0`, as written into records. */
  readonly software: string;
};
