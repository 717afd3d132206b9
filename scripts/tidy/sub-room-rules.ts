/**
 * Rules about the folders of rooms: which folder may import which, that folders do not form cycles, and how many files
 * a folder may have.
 */
import { posix } from 'node:path';
import { importsOf } from './import.ts';
import { isTest, ROOM_IMPORTS, roomOf } from './room-map.ts';
import { FOLDER_FILES_MAX, SUB_ROOM_IMPORTS, subRoomOf } from './sub-room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

export type SubRoomMap = typeof SUB_ROOM_IMPORTS;

export function checkSubRooms(files: readonly TextFile[]): Violation[] {
  const sources = files.filter(({ path, source }) => source && path.startsWith('src/') && !isTest(path));
  return [...checkMap(SUB_ROOM_IMPORTS), ...sources.flatMap(checkImports), ...checkSizes(sources)];
}

function checkImports({ path, source }: TextFile): Violation[] {
  const [room, own] = [roomOf(path), subRoomOf(path)];
  if (!room || !own || !Object.hasOwn(ROOM_IMPORTS, room)) return [];
  const allowed = SUB_ROOM_IMPORTS[room]?.[own];
  if (!allowed) {
    const message = `lies in ${room}/${own}, which is not in scripts/tidy/sub-room-map.ts`;
    return [{ file: path, line: 1, rule: 'sub-room', message }];
  }
  return importsOf(source!).flatMap(({ specifier, line }) => {
    if (!specifier?.startsWith('.')) return [];
    const target = posix.join(posix.dirname(path), specifier);
    const other = roomOf(target) === room ? subRoomOf(target) : own;
    if (!other || other === own || allowed.includes(other)) return [];
    return [{ file: path, line, rule: 'sub-room', message: `${room}/${own} may not import ${room}/${other}` }];
  });
}

function checkSizes(sources: readonly TextFile[]): Violation[] {
  const folders = Map.groupBy(sources, ({ path }) => posix.dirname(path));
  return [...folders].flatMap(([folder, { length }]) => {
    if (length <= FOLDER_FILES_MAX) return [];
    const message = `has ${length} files; past ${FOLDER_FILES_MAX} it is two folders`;
    return [{ file: folder, line: 1, rule: 'folder', message }];
  });
}

/** Finds folders that import themselves through other folders. */
export function checkMap(map: SubRoomMap): Violation[] {
  return Object.entries(map).flatMap(([room, folders]) =>
    Object.keys(folders).flatMap((folder) => {
      if (!reached(folders, folder).has(folder)) return [];
      const message = `${room}/${folder} imports itself by way of others`;
      return [{ file: 'scripts/tidy/sub-room-map.ts', line: 1, rule: 'sub-room', message }];
    }),
  );
}

function reached(folders: SubRoomMap[string], from: string, found = new Set<string>()): Set<string> {
  for (const next of folders[from] ?? []) {
    if (found.has(next)) continue;
    found.add(next);
    reached(folders, next, found);
  }
  return found;
}
