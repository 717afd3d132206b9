/**
 * Rules about ARCHITECTURE.md: each source file that it names exists, and its map names every sub-room. So the page
 * stays true when files move.
 */
import { SUB_ROOM_IMPORTS } from './sub-room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

const PAGE = 'ARCHITECTURE.md';
/** A path in code marks, from the root or below `src/`. */
const NAMED_FILE = /`([\w-]+(?:\/[\w.-]+)+\.tsx?)`/g;
/** Sub-rooms that the map names together: a folder for each group of commands. */
const GROUPED_ROOM = 'cli';

export function checkArchitecture(files: readonly TextFile[]): Violation[] {
  const page = files.find(({ path }) => path === PAGE);
  if (!page) return [];
  const paths = new Set(files.map(({ path }) => path));
  const violations: Violation[] = [];
  for (const [index, line] of page.text.split('\n').entries()) {
    for (const [, path] of line.matchAll(NAMED_FILE)) {
      if (paths.has(path!) || paths.has(`src/${path!}`)) continue;
      violations.push({ file: PAGE, line: index + 1, rule: 'map', message: `names ${path!}, which does not exist` });
    }
  }
  for (const [room, folders] of Object.entries(SUB_ROOM_IMPORTS)) {
    if (room === GROUPED_ROOM) continue;
    for (const folder of Object.keys(folders)) {
      if (page.text.includes(`| \`${room}/${folder}\` `)) continue;
      violations.push({ file: PAGE, line: 1, rule: 'map', message: `its map lacks the sub-room ${room}/${folder}` });
    }
  }
  return violations;
}
