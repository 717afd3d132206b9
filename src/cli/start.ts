#!/usr/bin/env node
/**
 * The entry point of the published program. It checks the version of Node before it imports anything, because an older
 * Node would fail with a syntax error instead of a useful message.
 */
const NODE_MAJOR_MIN = 24;

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) await import('./main.ts');
else {
  process.stderr.write(
    `pinakes: this is Node ${process.versions.node}, but Pinakes needs Node ${NODE_MAJOR_MIN} or newer.\n  Install a newer Node and run pinakes with it.\n`,
  );
  process.exitCode = 2;
}
