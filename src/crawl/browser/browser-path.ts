/**
 * Finds the browser that the settings name, or PINAKES_BROWSER names, or that is at the usual paths of Chromium and
 * Chrome.
 */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { PinakesError } from '../../base/index.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'microsoft-edge-stable'];

const MAC_APPLICATIONS = ['Chromium', 'Google Chrome', 'Microsoft Edge'];
const WINDOWS_PROGRAMS = ['Google\\Chrome', 'Chromium', 'Microsoft\\Edge'];

type Environment = {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** Returns the program file. Throws if a named file does not exist, even if there is another browser. */
export async function findBrowser(
  named: string,
  { platform, env }: Environment = { platform: process.platform, env: process.env },
): Promise<string> {
  const wanted = named !== '' ? named : (env.PINAKES_BROWSER ?? '');
  if (wanted !== '') {
    if (await isProgram(wanted)) return wanted;
    throw new PinakesError('BROWSER_MISSING', { where: wanted, detail: 'this program does not exist' });
  }
  for (const path of usualPaths({ platform, env })) if (await isProgram(path)) return path;
  throw new PinakesError('BROWSER_MISSING');
}

export function usualPaths({ platform, env }: Environment): string[] {
  if (platform === 'win32') {
    const roots = [env.PROGRAMFILES, env['PROGRAMFILES(X86)'], env.LOCALAPPDATA].filter((root) => root !== undefined);
    return WINDOWS_PROGRAMS.flatMap((program) =>
      roots.map((root) => {
        const file = program.endsWith('Edge') ? 'msedge.exe' : 'chrome.exe';
        return `${root}\\${program}\\Application\\${file}`;
      }),
    );
  }
  const onPath = (env.PATH ?? '').split(delimiter).filter((directory) => directory !== '');
  const places = NAMES.flatMap((name) => onPath.map((directory) => join(directory, name)));
  if (platform !== 'darwin') return [...places, '/snap/bin/chromium', '/opt/google/chrome/chrome'];
  const roots = ['/Applications', ...(env.HOME === undefined ? [] : [`${env.HOME}/Applications`])];
  return [
    ...MAC_APPLICATIONS.flatMap((name) => roots.map((root) => `${root}/${name}.app/Contents/MacOS/${name}`)),
    ...places,
  ];
}

function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
