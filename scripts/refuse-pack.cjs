'use strict';
// Runs when someone packs or publishes the checkout itself, which would make every user download the Node that is meant for developers.

process.stderr.write(
  'The checkout is not what is published. Run `npm run package`, then `npm publish` with the .tgz file that it makes.\n',
);
process.exit(2);
