'use strict';
// Runs when someone packs or publishes the checkout itself. Every user would then download the Node that is meant for
// developers.

process.stderr.write(
  'The checkout is not the published package. Run `npm run package`, then `npm publish` with the .tgz file it makes.\n',
);
process.exit(2);
