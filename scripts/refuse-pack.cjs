'use strict';
// Runs when the checkout itself is packed or published, and refuses it: every user would download the Node that is only
// meant for developers.

process.stderr.write(
  'The checkout is not the published package. Run `npm run package`, then `npm publish` with the .tgz file it makes.\n',
);
process.exit(2);
