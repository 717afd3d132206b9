/** Settings that the comparison of two trees shares with its jobs. */
export const JOB_NAMES = ['scan', 'add', 'retrieve', 'replay', 'cdx', 'crawl'] as const;
export type JobName = (typeof JOB_NAMES)[number];

/** Files in the directory of the comparison: sources of the jobs, and the URLs and times of the captures in one. */
export const WARC_SOURCE = 'scan.warc.gz';
export const ARCHIVE_SOURCE = 'archive.warc.gz';
export const PAGES = 'pages.jsonl';

export const SITE_PAGES = 8000;

/** Sent by a job that serves: the address and the paths to request. */
export type JobOrder = { readonly address: string; readonly paths: readonly string[] };
