/**
 * The name by which this program is called: `pinakes` when installed; in a checkout the path of the launcher as it was
 * typed, and `./pinakes` for `npm start`.
 *
 * Commands that the terminal or the web interface shows must work when a person copies them.
 */
import { basename, delimiter, dirname } from 'node:path';
import { shellQuoted } from './terminal.ts';

const NPM_SCRIPTS = ['start', 'demo'];

/** The launcher of a checkout passes its own path in `PINAKES_PROGRAM`. */
export function programName(env: Readonly<Record<string, string | undefined>>): string {
  const launcher = env.PINAKES_PROGRAM ?? '';
  if (launcher === '') return NPM_SCRIPTS.includes(env.npm_lifecycle_event ?? '') ? './pinakes' : 'pinakes';
  // A shell passes the full path of a command that it found on the PATH.
  const isOnPath = (env.PATH ?? '').split(delimiter).includes(dirname(launcher));
  return isOnPath ? basename(launcher) : shellQuoted(launcher);
}
