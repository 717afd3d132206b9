/** The version of the program, from the package's own file. */
import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

export const VERSION: string = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
