/**
 * Every error code with its sentence, its advice and whether trying again can help; sorted by code. docs/errors.md says the same at more
 * length, and a test keeps the two in agreement.
 */

export type ErrorEntry = { readonly says: string; readonly advice: string; readonly retryable: boolean };

const entry = (says: string, advice: string, retryable = false): ErrorEntry => ({ says, advice, retryable });

export const ERROR_CATALOGUE = {
  BAD_ARGUMENT: entry('the argument is not understood', 'See the command with --help for what it takes.'),
  CONVERSION_DIFFERS: entry(
    'the converted file does not hold the same payloads as its source',
    'The source is untouched and the new file was removed. Run `pinakes warc check` on the source.',
  ),
  DEVICE_FAILED: entry(
    'the device reported an error',
    'Look at the system log. If the disk is failing, copy what it still gives to another before anything else.',
    true,
  ),
  DISK_FULL: entry(
    'no space is left on the device',
    'Free some space, or write to another disk, and run it again.',
    true,
  ),
  FILE_CHANGED: entry(
    'the file changed while it was read',
    'Wait until nothing writes to it any more, and run it again.',
    true,
  ),
  FILE_EXISTS: entry('the file exists already', 'Choose another name, move it away, or give --force to replace it.'),
  FILE_IS_DIRECTORY: entry('this is a directory where a file is needed', 'Name a file inside it.'),
  FILE_MISSING: entry('there is no such file or directory', 'Check the spelling of the path.'),
  FILE_UNREADABLE: entry('the file may not be read', 'Check its permissions, or run as a user who may read it.'),
  FILE_UNWRITABLE: entry(
    'the file may not be written',
    'Check the permissions of its directory, or write to another place with --out.',
  ),
  NOT_WARC: entry(
    'this is neither a WARC nor an ARC file',
    'Name a .warc, .warc.gz, .warc.zst, .arc, .arc.gz or .wacz file; `file NAME` tells what this one is.',
  ),
  NO_RECORD: entry('there is no record at this offset', '`pinakes warc ls` lists the offsets of all records.'),
  NO_WARCS: entry(
    'the directory holds no WARC, ARC or WACZ files',
    'Name a directory that does, or the files themselves.',
  ),
  RECORD_TOO_LARGE: entry('the record is too large to be held in memory', 'Read its body in pieces.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
