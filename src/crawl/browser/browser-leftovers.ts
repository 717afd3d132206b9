/**
 * Removes files that browsers leave in the temporary directory. Playwright makes a profile there for each browser. It
 * removes the profile when the browser ends, but not when this process is killed.
 *
 * So this program makes a directory for every browser, which is named for this process and machine, and puts a marker
 * file of the same name into the profile. Before the next crawl starts its browsers, it removes directories and
 * profiles whose names or markers belong to ended processes. It leaves directories of other users alone, since they may
 * create anything there.
 */
import { readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PROFILE = 'playwright_chromiumdev_profile-';
const MARKER = /^pinakes-browser-(\d+)-(.+)-.{6}$/;
/** Names the machine and the container, because process numbers are unique within them. */
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

/** Removes the directories that ended processes left. A directory that cannot be removed stays. */
export async function removeBrowserLeftovers(): Promise<void> {
  for (const name of await entriesOf(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!(name.startsWith(PROFILE) || isOfEndedProcess(name)) || !(await isOwnDirectory(path))) continue;
    if (isOfEndedProcess(name) || (await entriesOf(path)).some(isOfEndedProcess))
      await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Whether the path is a directory that this user made, and not a link to one. */
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
 * The name of the process number space on Linux; '' elsewhere. Containers may share a host name and a temporary
 * directory, but each numbers its own processes.
 */
function numberSpace(): string {
  try {
    return `-${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return '';
  }
}
