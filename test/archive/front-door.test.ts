/**
 * Other rooms use the parts of an archive through methods of the archive. The lines below must not compile, so `npm run
 * types` fails when a part becomes public.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeArchive } from './trial-archive.ts';

test('an archive hides its catalog, its volumes and its other parts', async (t) => {
  const archive = await makeArchive(t);
  const parts: unknown[] = [
    // @ts-expect-error: captures and blocks are read with methods of the archive.
    archive.catalog,
    // @ts-expect-error: `segments()` lists the segments.
    archive.segmentRegistry,
    // @ts-expect-error: `records` reads single records.
    archive.access,
    // @ts-expect-error: `segmentBytes()` reads a segment, and `listVolumes()` describes the volumes.
    archive.volumes,
    // @ts-expect-error: only this room reads tombstones.
    archive.tombstones,
    // @ts-expect-error: snapshots are created, listed and removed with methods of the archive.
    archive.snapshots,
    // @ts-expect-error: captures are found and opened with methods of the archive.
    archive.retrieval,
    // @ts-expect-error: every change is a method of the archive.
    archive.exclusive,
    // @ts-expect-error: every change is a method of the archive.
    archive.commit,
  ];
  assert.deepEqual(
    parts.filter((part) => part !== undefined),
    [],
  );
  assert.deepEqual(Object.keys(archive), [], 'an archive has methods only');
});
