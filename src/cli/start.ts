#!/usr/bin/env node
/**
 * Where the published program begins: says so on a Node that cannot run it, which would else stop at the first thing it
 * does not know. So it imports nothing before it has looked.
 */
const NODE_MAJOR_MIN = 24;

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) await import('./main.ts');
else {
  process.stderr.write(
    `pinakes: this is Node ${process.versions.node}, and Pinakes needs Node ${NODE_MAJOR_MIN} or newer.\n  Install it, and run pinakes with it.\n`,
  );
  process.exitCode = 2;
}
