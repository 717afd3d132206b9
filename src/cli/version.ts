/** The version of the program, read from package.json. */
import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

export const VERSION: string = (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
