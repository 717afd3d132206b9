/** What the commands on files do, loaded together. */
export { warcCat } from './warc-cat.ts';
export { warcCheck } from './warc-check.ts';
export { warcConvert } from './warc-convert.ts';
export { warcIndex } from './warc-index.ts';
export { warcLs } from './warc-ls.ts';
