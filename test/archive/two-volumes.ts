/** An archive over two volumes. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Archive, Problem } from '../../src/archive/index.ts';
import { contentOf, makeArchive, NOON, page } from './trial-archive.ts';

export function urlOf(volume: string, number: number): string {
  return `http://${volume}.example/${number}`;
}

/** An archive with the volumes `main` and `second`, and the same number of pages in each. */
export async function twoVolumes(t: TestContext, count: number): Promise<{ archive: Archive; second: string }> {
  const archive = await makeArchive(t);
  const second = join(archive.directory, '../', `${archive.directory.split('/').at(-1)}-second`);
  await archive.addVolume({ name: 'second', path: second });
  for (const volume of ['main', 'second'])
    for (let number = 0; number < count; number++)
      await archive.store(page(urlOf(volume, number), NOON, contentOf(`${volume} ${number}`)), { volume });
  return { archive, second };
}

export async function problemsOf(archive: Archive): Promise<Problem[]> {
  const problems: Problem[] = [];
  await archive.verify({ onProblem: (problem) => void problems.push(problem) });
  return problems;
}
