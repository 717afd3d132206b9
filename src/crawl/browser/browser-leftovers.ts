/**
 * Removes what browsers leave in the temporary directory. The program that drives them makes a profile there for each
 * browser. It removes the profile when the browser ends, but not when this process is killed.
 *
 * So every browser also has a directory of ours, named for this process and machine. Its profile contains a marker file
 * of the same name. When the next browser is started, directories named for processes that have ended are removed. Only
 * directories of this user are, since other users may create anything there.
 */
import { readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PROFILE = 'playwright_chromiumdev_profile-';
const MARKER = /^pinakes-browser-(\d+)-(.+)-.{6}$/;
/** Process numbers are unique only on one machine, and in one container. */
const PLACE = `${encodeURIComponent(hostname())}${numberSpace()}`;

/** Makes the directory of a browser. */
export function makeBrowserDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), `pinakes-browser-${process.pid}-${PLACE}-`));
}

/** Writes the marker file into the profile of the browser with this command line. */
export async function markProfile(commandLine: string, directory: string): Promise<void> {
  const profile = /--user-data-dir=(.*?)(?: --|$)/.exec(commandLine)?.[1];
  if (profile !== undefined && basename(profile).startsWith(PROFILE))
    await writeFile(join(profile, basename(directory)), '').catch(() => {});
}

/** Removes what ended processes left. What cannot be removed stays. */
export async function removeBrowserLeftovers(): Promise<void> {
  for (const name of await entriesOf(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!(name.startsWith(PROFILE) || isOfEndedProcess(name)) || !(await isOwnDirectory(path))) continue;
    if (isOfEndedProcess(name) || (await entriesOf(path)).some(isOfEndedProcess))
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Whether it is a directory, not a link to one, that this user made. */
async function isOwnDirectory(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return false;
  return process.getuid === undefined || stats.uid === process.getuid();
}

function entriesOf(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

function isOfEndedProcess(marker: string): boolean {
  const [, pid, place] = MARKER.exec(marker) ?? [];
  if (pid === undefined || place !== PLACE) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Containers may share a host name and a temporary directory, but each numbers its own processes. Linux names the
 * number space.
 */
function numberSpace(): string {
  try {
    return `-${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return '';
  }
}
