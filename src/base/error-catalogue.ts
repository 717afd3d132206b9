/**
 * Every error code with its sentence, its advice and whether a retry can help; sorted by code. docs/errors.md explains
 * them at more length, and a test keeps the two in agreement.
 */

export type ErrorEntry = { readonly says: string; readonly advice: string; readonly retryable: boolean };

const entry = (says: string, advice: string, retryable = false): ErrorEntry => ({ says, advice, retryable });

export const ERROR_CATALOGUE = {
  ARCHIVE_BUSY: entry(
    'another process has the archive open',
    'Wait until it is done, or stop it. One process at a time may own an archive.',
    true,
  ),
  ARCHIVE_CLOSED: entry(
    'the archive was closed before this was done',
    'Everything acknowledged is kept. Open the archive again and repeat the command: it continues where it stopped.',
    true,
  ),
  ARCHIVE_EXISTS: entry(
    'there is an archive here already',
    'Choose another directory, or use the archive that is there.',
  ),
  ARCHIVE_FULL: entry(
    'the disk of the archive is too full for anything more to be taken in',
    'Reading and `pinakes delete` still work. After a deletion `pinakes compact` makes room: it needs space for one rewritten segment at a time. `pinakes volume migrate` moves segments to another disk. Or free some space in another way, and run the command again.',
    true,
  ),
  ARCHIVE_MISSING: entry('there is no archive here', 'Make one with `pinakes init`, or name one with --archive.'),
  ARCHIVE_OLD: entry(
    'the archive was made by an earlier Pinakes, and is only read',
    'Run `pinakes upgrade`, which reads no segment. After it, earlier releases refuse the archive.',
  ),
  ARCHIVE_UNWRITABLE: entry(
    'the directory of the archive may not be written to',
    'Even reading needs write access to the directory. Check its permissions, or add its volumes to an archive of your own, as docs/archive.md shows.',
  ),
  BAD_ARGUMENT: entry('the argument is not understood', 'Run the command with --help to see its arguments.'),
  BAD_QUERY: entry(
    'the query cannot be read',
    'Correct it at the marked place. docs/search.md describes the queries of `search`, docs/archive.md those of `delete`, `export` and `stream`.',
  ),
  BROWSER_FAILED: entry(
    'the browser does not start',
    'Start it by hand to see what is missing, or name another with --browser-path or PINAKES_BROWSER.',
    true,
  ),
  BROWSER_MISSING: entry(
    'no browser was found',
    'Install Chromium or Chrome, for example with `apt install chromium`, or name its program file with --browser-path or PINAKES_BROWSER.',
  ),
  BROWSER_SANDBOX: entry(
    'the browser cannot shut its pages off from the system here',
    'Run as a user other than root, on a system that allows user namespaces. In a container that isolates the crawl anyway, use --no-browser-sandbox.',
  ),
  BUCKET_MISSING: entry(
    'the bucket does not exist',
    'Make the bucket, or correct its name, the endpoint or the region in archive.yaml.',
  ),
  CATALOG_DAMAGED: entry(
    'the catalog is damaged',
    'Nothing archived is lost: run `pinakes rebuild`, which makes the catalog again from the segments.',
  ),
  CATALOG_FAILED_OVER: entry(
    'the database is on another server than before, and may lack the last commits',
    'Run `pinakes catalog adopt`, which reads from the volumes what the database lacks. Until then the archive can be read and not changed. If it is certain that no commit was lost, as with a synchronous standby, add --nothing-lost.',
  ),
  CATALOG_LOCKED: entry(
    'the catalog is in use by another process',
    'Wait for the other command on this archive to end, or stop it.',
    true,
  ),
  CATALOG_STOPPED: entry(
    'the catalog takes no more changes, since one could not be written',
    'Check the disk, then stop this program and start it again. Everything acknowledged is kept; opening the archive finds out whether the last change was made.',
    true,
  ),
  CATALOG_UNREACHABLE: entry(
    'the database of the catalog cannot be used',
    'Check that the database is running, that its address is right, and that the user may write to it, then try again. Nothing is committed twice. Everything acknowledged is kept.',
    true,
  ),
  CATALOG_VERSION: entry(
    'the catalog was made by another version of Pinakes',
    'Use that version, or run `pinakes rebuild`, which makes the catalog again from the segments.',
  ),
  CATALOG_VIEW_ENDED: entry(
    'the view of the catalog was open for too long',
    'Begin again, with less at once if that is possible. While a view is open, the database cannot remove old rows.',
    true,
  ),
  CONFIRMATION_NEEDED: entry(
    'the command needs a confirmation, and there is no terminal to ask for it',
    'Add --yes to go ahead, or --dry-run for a preview.',
  ),
  CONNECTOR_INVALID: entry(
    'the archive.yaml of the archive cannot be understood',
    'Correct the file; docs/storage.md describes it.',
  ),
  CONTENT_BARRED: entry(
    'a takedown bars this content or address from the archive',
    'Leave it out. A takedown is for good: nothing that it names can be stored again.',
  ),
  CONTENT_HAS_URLS: entry(
    'only captures of URLs have this content, and a key does not say which of them is meant',
    'Delete one with `pinakes delete --capture ID`, or all of them with `pinakes delete --key KEY --all`.',
  ),
  CONTENT_KEY_INVALID: entry(
    'this is no content key',
    'A content key looks like main:sha256:9f86d081..., as `pinakes put` prints it.',
  ),
  CONTENT_MISSING: entry(
    'the archive does not hold this',
    'Check the URL, the time or the key; `pinakes export --prefix URL` lists the captures whose URLs begin with URL.',
  ),
  CONVERSION_DIFFERS: entry(
    'the converted file does not hold the same payloads as its source',
    'The source is untouched and the new file was removed. Run `pinakes warc check` on the source.',
  ),
  CRAWL_NOT_RUNNING: entry(
    'the crawl is not running',
    'Continue it with `pinakes crawl --resume COLLECTION`. Other machines can then join it.',
  ),
  CRAWL_NOT_SHARED: entry(
    'joining a crawl needs a cluster',
    'Several machines can share an archive whose catalog is on PostgreSQL. The catalog of this one is in its directory.',
  ),
  CRAWL_RUNNING: entry(
    'a crawl of this collection is under way',
    'Wait until it is done, or stop it. A collection has one crawl at a time.',
    true,
  ),
  CRAWL_STATE: entry(
    'the state of the crawls cannot be read',
    'Nothing archived is lost. Move crawl.sqlite out of the archive; the next crawl begins without what it knew.',
  ),
  CRAWL_UNFINISHED: entry(
    'an unfinished crawl with other seeds or settings is here',
    'Finish it with `pinakes crawl --resume COLLECTION`, or discard its queue with --fresh.',
  ),
  CRAWL_UNKNOWN: entry(
    'nothing is known of a crawl of this collection',
    'Crawl it first: `pinakes crawl URL --collection NAME`.',
  ),
  CURSOR_EXPIRED: entry(
    'the stream cannot go on where this cursor stopped',
    'Start the stream again without a cursor: a stream of a named snapshot with its name.',
  ),
  DEVICE_FAILED: entry(
    'the device reported an error',
    'Look at the system log. If the disk is failing, first copy everything that is still readable to another disk.',
    true,
  ),
  DISK_FULL: entry(
    'no space is left on the device',
    'Free some space, or write to another disk, and run it again.',
    true,
  ),
  ENGINE_FAILED: entry(
    'the SQL engine could not do it',
    'Read its message. Name another --work directory with more space, or split the manifest with `pinakes slim split` and resolve the parts.',
  ),
  FILE_BUSY: entry(
    'another process is writing to the file',
    'Wait until it is done, or stop it, and run it again.',
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
  FILE_NAME_UNREADABLE: entry('the name of the file is not UTF-8', 'Rename it; `ls -b` shows the bytes of its name.'),
  FILE_NOT_DIRECTORY: entry(
    'a file stands where a directory is needed',
    'Name a directory; no part of its path may be a file.',
  ),
  FILE_NOT_SEEKABLE: entry(
    'this is a pipe or a device where a file is needed',
    'Name a file; save the output of a pipe to a file first.',
  ),
  FILE_UNREACHABLE: entry(
    'the server of the file does not answer as it should',
    'Check the address and the connection, and run it again. Other files can be read meanwhile.',
    true,
  ),
  FILE_UNREADABLE: entry('the file may not be read', 'Check its permissions, or run as a user with read access.'),
  FILE_UNWRITABLE: entry(
    'the file may not be written',
    'Check the permissions of its directory, or write to another place.',
  ),
  FOLDER_UNFIT: entry(
    'the file system of the folder cannot hold the objects of a volume server',
    'Use a folder on a file system that tells names apart by case, has hard links, and keeps times to the millisecond, such as ext4, XFS, btrfs or ZFS.',
  ),
  INDEX_DAMAGED: entry(
    'the search index is damaged',
    'Nothing archived is lost: run `pinakes index --rebuild`, which makes the index again from the archive.',
  ),
  INDEX_MISSING: entry(
    'there is no search index here that can be used',
    'Run `pinakes index`, which makes it from the archive.',
  ),
  LEASE_LOST: entry(
    'another process has taken over the work of this one',
    'Start the program again. Nothing acknowledged is lost; what was not acknowledged may have to be stored again.',
  ),
  LISTEN_FAILED: entry(
    'the server cannot listen at this address',
    'Name an address of this machine with --host, and a port above 1023 with --port and --replay-port.',
  ),
  MANIFEST_UNREADABLE: entry(
    'this is not a manifest that Pinakes can read',
    'Name a Parquet file that `pinakes slim sum` wrote, or a text file in the layout of warcsum.',
  ),
  MIRROR_DAMAGED: entry(
    'the mirror is damaged',
    'Run `pinakes mirror check --repair` and then `pinakes mirror sync`. To restore, use an earlier state with --until, or another mirror.',
  ),
  MIRROR_MISSING: entry(
    'the mirror is not there',
    'Mount its disk, or correct the target in archive.yaml. `pinakes mirror ls` shows the mirrors.',
    true,
  ),
  MIRROR_SHRUNK: entry(
    'the mirror would lose more than half of its bytes',
    'Check with `pinakes verify` that nothing was lost. If the archive really became so much smaller, sync with --shrink.',
  ),
  MIRROR_TAKEN: entry(
    'this place cannot be a mirror of this archive',
    'Choose an empty directory for it, or the mirror that belongs to this archive.',
  ),
  MIRROR_UNKNOWN: entry('the archive has no mirror of this name', '`pinakes mirror ls` lists the mirrors.'),
  NOT_LINKABLE: entry(
    'the file cannot be used where it lies',
    'Add it, or a copy of it on this machine, without --in-place: its records are then copied into the archive.',
  ),
  NOT_WACZ: entry(
    'this is not a WACZ file that can be read',
    'A WACZ file is a ZIP package with WARC files in it. Fetch it again from its source: this copy may be incomplete.',
  ),
  NOT_WARC: entry(
    'this is neither a WARC nor an ARC file',
    'Name a .warc, .warc.gz, .warc.zst, .arc, .arc.gz or .wacz file; `file NAME` shows the type of this file.',
  ),
  NO_RECORD: entry('there is no record at this offset', '`pinakes warc ls` lists the offsets of all records.'),
  NO_WARCS: entry(
    'the directory holds no WARC, ARC or WACZ files',
    'Name a directory that does, or the files themselves.',
  ),
  NO_WRITABLE_VOLUME: entry(
    'the archive has no volume that can be written to',
    'Make one writable with `pinakes volume set`, or add one with `pinakes volume add`.',
  ),
  OBJECT_CHANGED: entry(
    'the file is no longer the one that was linked',
    'Put the file back as it was, or unlink it and add it again as it is now.',
  ),
  OBJECT_EXISTS: entry('the volume has an object of this name already', 'Choose another name, or remove the object.'),
  OBJECT_MISSING: entry(
    'the volume has no such object',
    'Put the file back from a copy. If it was removed on purpose, run `pinakes rebuild`.',
  ),
  OBJECT_MOVED: entry(
    'the object is not as its writer left it',
    'Make sure that no other program writes to the volume, then open the archive again: this repairs half-written segments.',
  ),
  OPEN_FILES_LIMIT: entry(
    'the system lets no more files be opened',
    'Raise the limit with `ulimit -n`, or stop other programs, and run the command again.',
    true,
  ),
  PORT_IN_USE: entry(
    'the port is in use by another program',
    'Choose others with --port and --replay-port, or stop the program that listens there.',
    true,
  ),
  RECORD_DAMAGED: entry(
    'the stored copy of this is damaged',
    'Run `pinakes verify`, and restore the segment from a backup. `pinakes get` prints the readable part.',
  ),
  RECORD_TOO_LARGE: entry('the record is too large to be held in memory', 'Read its body in pieces.'),
  REMOTE_FULL: entry(
    'the server of the archive has no room for this',
    'The quota of the token is used up, or the disk is full. Ask the operator of the server.',
  ),
  REMOTE_GONE: entry(
    'the server of the archive cannot be reached',
    'Check the address and the network, then run the command again: what arrived is not sent twice.',
    true,
  ),
  REMOTE_REFUSED: entry(
    'the server of the archive refused the request',
    'Read its message. `--token-file` or PINAKES_TOKEN gives the token, which needs the rights for what the command does.',
  ),
  SCAN_TOO_LARGE: entry(
    'what stands here takes more memory to read than there is for it',
    'Everything before it was read. List the file from there with `pinakes warc ls`, cut out the record at this place, and run the command again with the rest.',
  ),
  SERVER_GONE: entry(
    'the server that has the archive open cannot be reached',
    'Check whether it is still running. If it is not, run the command again: it then opens the archive itself.',
    true,
  ),
  SERVER_REFUSED: entry(
    'the server that has the archive open refused the command',
    'Read its message. Use the same version of Pinakes as the server, or stop the server and run the command again.',
  ),
  SIGN_IN_UNSAFE: entry(
    'with these options, other people could act as a person who is signed in',
    'Change what the message names. docs/users.md shows safe ways to connect a sign-in service or a proxy.',
  ),
  SLIM_JOURNAL: entry(
    'the journal of the run cannot be read',
    "Nothing archived is lost. Move the run's directory away and run the command again; slimmed files stay slimmed.",
  ),
  SLIM_KEPT_BEFORE: entry(
    'another file of this name is kept there already',
    'Nothing was done. Name another directory with --keep-originals: the file there may be needed to undo an earlier run.',
  ),
  SLIM_LOCKED: entry('another slim command is at work here', 'Wait for it to end.', true),
  SLIM_NOTES: entry(
    'the notes on which files refer to one another cannot be read',
    'Nothing was done. Restore the notes from a backup. Or remove them, and from then on always slim the files beside them together with all files that were ever slimmed with them.',
  ),
  SLIM_NOT_KEPT: entry('no old files were kept', 'Only a run with --keep-originals can be undone.'),
  SLIM_READ_BACK: entry(
    'the rewritten file is not what it should be',
    'The old file is untouched and the new one was removed. Check the disk and the memory of the machine, then run it again.',
    true,
  ),
  SLIM_UNFINISHED: entry(
    'an unfinished run with other options or files is here',
    'Run the command again with the same options and files, or undo the run.',
  ),
  SNAPSHOTS_DAMAGED: entry(
    'the list of snapshots is damaged',
    'The file was not changed. Restore it from a backup; or move it out of the archive, which loses its snapshots. Then open the archive again. Until then nothing is compacted.',
  ),
  SNAPSHOT_EXISTS: entry('there is a snapshot of this name already', 'Choose another name, or remove the other.'),
  SNAPSHOT_MISSING: entry('there is no snapshot of this name', '`pinakes snapshot ls` lists the snapshots.'),
  TAKEDOWN_LOG_DAMAGED: entry(
    'the log of takedowns is damaged',
    '`pinakes takedowns` shows which entries were changed or are missing. Restore the objects under _pinakes/takedowns/ from a backup or a mirror.',
  ),
  TAKEDOWN_MISSING: entry('there is no takedown with this number', '`pinakes takedowns` lists the takedowns.'),
  TOKENS_DAMAGED: entry(
    'the file of the named tokens cannot be read',
    'Restore tokens.json from a backup, or remove it and make new tokens with `pinakes token add`. Until then every named token is refused.',
  ),
  TOKEN_EXISTS: entry(
    'a token with this name exists',
    'Choose another name, or revoke the token with `pinakes token revoke` first.',
  ),
  TOKEN_UNKNOWN: entry('there is no token with this name', '`pinakes token ls` lists the tokens.'),
  VOLUME_CREDENTIALS: entry(
    'the server of the volume was given no credentials that it accepts',
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, for the user who runs Pinakes. They never belong into archive.yaml.',
  ),
  VOLUME_DENIED: entry(
    'the server of the volume does not allow this with these credentials',
    'Give the key the rights that docs/s3.md lists, for this bucket and prefix.',
  ),
  VOLUME_IO: entry(
    'the volume failed to read or write',
    'Look at the system log and at the connection to the disk, then run it again.',
    true,
  ),
  VOLUME_KEYS_MISSING: entry(
    'the folder has no keys of a volume server',
    'Add one with `pinakes volume key add`. If there were keys, the disk of the folder may not be mounted.',
  ),
  VOLUME_MISSING: entry(
    'the volume is not there',
    'Plug in or mount the disk, or correct the directory in archive.yaml, and run it again.',
    true,
  ),
  VOLUME_NEEDED: entry(
    'the catalog has to be made again, which needs this volume',
    'Bring the volume back and run it again: records of deletions may be in it. If it is lost for good, remove it from archive.yaml; captures whose deletions only it has come back then.',
    true,
  ),
  VOLUME_NOT_EMPTY: entry(
    'the volume is not empty',
    'Move its segments to another volume first, with `pinakes volume migrate`. Tombstones of segments in read-only volumes are removed when those volumes are writable and compacted.',
  ),
  VOLUME_READ_ONLY: entry(
    'the volume may only be read',
    'Make it writable with `pinakes volume set NAME writable`, and on the disk; or write to another volume.',
  ),
  VOLUME_REFUSED: entry(
    'the server of the volume refused the request',
    'Read its message. Check the endpoint, the region and the certificate; docs/s3.md lists what a server must be able to do.',
  ),
  VOLUME_TAKEN: entry(
    'another archive writes to the volume',
    'Make it read-only in one of the two with `pinakes volume set NAME read-only`.',
    true,
  ),
  VOLUME_UNKNOWN: entry('the archive has no volume of this name', '`pinakes volume ls` lists the volumes.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
