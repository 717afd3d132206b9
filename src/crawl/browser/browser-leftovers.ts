/**
 * What browsers leave in the temporary directory. The program that drives them makes a profile there for each, and
 * takes it away when the browser ends; but who is killed takes nothing away. So every browser has a directory of ours
 * beside it, named with this process and machine, and its profile has a mark of the same name. What bears the name of a
 * process that is gone is removed when the next browser is started here: directories of this user alone, since others
 * may make there what they like.
 */
import { readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PROFILE = 'playwright_chromiumdev_profile-';
const MARK = /^pinakes-browser-(\d+)-(.+)-.{6}$/;
/**
 * Processes are told apart by their numbers only where these are given out: on the same machine, and in the same
 * container.
 */
const PLACE = `${encodeURIComponent(hostname())}${numberSpace()}`;

/** Makes the directory of a browser. */
export function makeBrowserDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), `pinakes-browser-${process.pid}-${PLACE}-`));
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
    if (!(name.startsWith(PROFILE) || isLeft(name)) || !(await isOurs(path))) continue;
    if (isLeft(name) || (await namesIn(path)).some(isLeft))
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Whether it is a directory, not a link to one, that nobody else can have made. */
async function isOurs(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return false;
  return process.getuid === undefined || stats.uid === process.getuid();
}

function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

function isLeft(mark: string): boolean {
  const [, pid, place] = MARK.exec(mark) ?? [];
  if (pid === undefined || place !== PLACE) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Containers may share a name and a temporary directory, and yet number their processes each for itself; Linux tells.
 */
function numberSpace(): string {
  try {
    return `-${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return '';
  }
}
