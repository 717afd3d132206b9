/**
 * How this program is typed: `pinakes` where it is installed; in a checkout as the launcher was typed, and `./pinakes`
 * for `npm start`.
 *
 * Commands that are printed for a person, in a terminal or on the web page, have to work when they are copied.
 */
import { basename, delimiter, dirname } from 'node:path';
import { shellWord } from './terminal.ts';

const NPM_SCRIPTS = ['start', 'demo'];

/** The launcher of a checkout hands on its own name in `PINAKES_PROGRAM`. */
export function programName(env: Readonly<Record<string, string | undefined>>): string {
  const launcher = env.PINAKES_PROGRAM ?? '';
  if (launcher === '') return NPM_SCRIPTS.includes(env.npm_lifecycle_event ?? '') ? './pinakes' : 'pinakes';
  // A shell names the whole file of a command that it found on the PATH.
  const isOnPath = (env.PATH ?? '').split(delimiter).includes(dirname(launcher));
  return isOnPath ? basename(launcher) : shellWord(launcher);
}
