/**
 * What browsers leave in the temporary directory. The program that drives them makes a profile there for each, and takes it away when the browser ends; but who is killed takes nothing away.
 * So every browser has a directory of ours beside it, named with this machine and process, and its profile has a mark of the same name. What bears the name of a process that is gone is removed
 * when the next browser is started here.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PROFILE = 'playwright_chromiumdev_profile-';
/** Processes are told apart by their numbers only on the same machine. */
const OURS = `pinakes-browser-${encodeURIComponent(hostname())}-`;

/** Makes the directory of a browser. */
export function makeBrowserDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), `${OURS}${process.pid}-`));
}

/** Marks the profile of the browser that was started with this command line as belonging to the directory. */
export async function markProfile(commandLine: string, directory: string): Promise<void> {
  const profile = /--user-data-dir=(.*?)(?: --|$)/.exec(commandLine)?.[1];
  if (profile !== undefined && basename(profile).startsWith(PROFILE))
    await writeFile(join(profile, basename(directory)), '').catch(() => {});
}

/** Removes what processes left that are gone. What cannot be removed stays. */
export async function removeLeftovers(): Promise<void> {
  for (const name of await namesIn(tmpdir())) {
    const path = join(tmpdir(), name);
    const marks = name.startsWith(PROFILE) ? await namesIn(path) : [name];
    if (marks.some(isLeft)) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

function isLeft(mark: string): boolean {
  const pid = mark.startsWith(OURS) ? Number(/^(\d+)-/.exec(mark.slice(OURS.length))?.[1]) : Number.NaN;
  if (Number.isNaN(pid)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
