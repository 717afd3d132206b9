/** Jobs that maintain an archive: `compact`, `verify`, `delete`, `takedown`, `takedown-check`, `rebuild`. */
import { Type } from 'typebox';
import type { Archive, Problem } from '../../archive/index.ts';
import { databaseProblems } from '../../search/index.ts';
import type { DeleteTickets } from '../delete-ticket.ts';
import { HttpProblem } from '../http/problem.ts';
import { closed, countOf, DeletionInput, TakedownGround, TakedownInput } from '../schema.ts';
import { deletionOf } from '../selection-input.ts';
import { defineJobKind, type JobKind, LISTED_MAX } from './job-kind.ts';

export const compactKind: JobKind = defineJobKind({
  name: 'compact',
  // Each segment is swapped by itself, and what is compacted is not compacted again.
  isResumable: () => true,
  input: closed({}),
  run: async ({ archive, signal, progress }) => {
    const dead = (await archive.segments()).filter(({ deadBytes }) => deadBytes > 0);
    const total = dead.reduce((sum, { bytes }) => sum + bytes, 0);
    let done = 0;
    return archive.compact({
      signal,
      onProgress: ({ segment, bytesBefore }) => {
        done += bytesBefore;
        progress({ done, total: Math.max(total, done), unit: 'bytes', message: segment });
      },
    });
  },
});

export const verifyKind: JobKind = defineJobKind({
  name: 'verify',
  lane: 'verify',
  isResumable: () => true,
  input: closed({
    depth: Type.Optional(Type.Enum(['quick', 'full'], { description: '`quick` does not hash payloads.' })),
  }),
  run: async ({ archive, signal, progress, say }, { depth = 'full' }) => {
    const total = await segmentBytes(archive);
    const problems: Problem[] = [];
    const report = await archive.verify({
      depth,
      signal,
      others: (aborted) => databaseProblems(archive.directory, aborted),
      onProblem: (problem) => {
        if (problems.push(problem) > LISTED_MAX) problems.pop();
        say(formatProblem(problem));
      },
      onProgress: ({ segment, bytes }) => progress({ done: bytes, total, unit: 'bytes', message: segment }),
    });
    return { depth, ...report, problems };
  },
});

export function deleteKind(tickets: DeleteTickets): JobKind {
  return defineJobKind({
    name: 'delete',
    // Only this server can check the token of its preview.
    isLocal: () => true,
    input: closed({
      selection: DeletionInput,
      token: Type.String({ maxLength: 500, description: 'From the preview of this selection.' }),
    }),
    run: async ({ archive, signal }, { selection, token }) => {
      // Captures stored from now on, for example by a crawl, were not in the preview and are kept.
      await using seen = await archive.view();
      await tickets.check(token, selection, seen, signal);
      return await archive.delete(await deletionOf(archive, selection), { signal, seen });
    },
  });
}

export const takedownKind: JobKind = defineJobKind({
  name: 'takedown',
  isCancellable: false,
  input: closed({
    ...TakedownInput.properties,
    ...TakedownGround.properties,
    captures: countOf('How many captures the preview showed.'),
  }),
  run: async ({ archive }, { captures, reason, by = 'the API', ...input }) => {
    if ((await archive.previewTakedown(input)).captures === captures) return archive.takeDown(input, { reason, by });
    throw new HttpProblem({
      status: 409,
      code: 'DELETE_UNSEEN',
      message: 'the captures have changed since the preview',
      advice: 'Request a preview with POST /api/takedowns/preview, check it, and send its number of captures.',
    });
  },
});

export const takedownCheckKind: JobKind = defineJobKind({
  name: 'takedown-check',
  lane: 'verify',
  isResumable: () => true,
  input: closed({
    takedown: Type.Optional(Type.Integer({ minimum: 1, description: 'The number of a takedown. Default: all.' })),
    by: TakedownGround.properties.by,
  }),
  run: async ({ archive, signal, progress, say }, { takedown, by = 'the API' }) => {
    const check = await archive.takedownLog.check(takedown, {
      by,
      signal,
      onProgress: ({ place, file, bytes }) => progress({ done: bytes, unit: 'bytes', message: `${place}: ${file}` }),
    });
    for (const { place, file, offset, what } of check.findings) say(`found in ${place}: ${file}:${offset}: ${what}`);
    for (const { what, why } of check.unsearched) say(`not searched: ${what}: ${why}`);
    const { findings, unsearched, ...figures } = check;
    return { ...figures, findings: findings.slice(0, LISTED_MAX), unsearched: unsearched.slice(0, LISTED_MAX) };
  },
});

export const rebuildKind: JobKind = defineJobKind({
  name: 'rebuild',
  // A half-built catalog is wrong until the archive is opened again, which completes the rebuild.
  isCancellable: false,
  input: closed({}),
  run: async ({ archive, signal, progress }) => {
    const total = await segmentBytes(archive);
    let done = 0;
    await archive.rebuild({
      signal,
      onProgress: ({ bytes, name }) => {
        done += bytes;
        progress({ done, total: Math.max(total, done), unit: 'bytes', message: name });
      },
    });
    return { segments: (await archive.segments()).length, ...(await archive.totals()) };
  },
});

async function segmentBytes(archive: Archive): Promise<number> {
  return (await archive.segments()).reduce((sum, { bytes }) => sum + bytes, 0);
}

function formatProblem({ level, code, volume, segment, offset, message }: Problem): string {
  const where = [volume, segment, offset].filter((part) => part !== undefined).join(':') || 'catalog';
  return `${where}: ${level} ${code}: ${message}`;
}
