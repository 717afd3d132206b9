'use strict';
// Stops a script early, with advice, when it runs on a Node that Pinakes cannot use.
// It is CommonJS and old syntax on purpose: the runtimes that it refuses must be able to parse it.

var major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    'Pinakes needs Node 24 or newer, and this is Node ' +
      process.versions.node +
      '.\n' +
      'On Linux and Windows `npm ci` brings the right one; run it without --omit=optional.\n' +
      'Elsewhere, install Node 24 from your system and try again.\n',
  );
  process.exit(2);
}
