/**
 * Rules about imports: rooms import only the rooms of the map, through their front doors; test/ and bench/ see front doors only; packages
 * belong to rooms; files of src/ form no cycle.
 *
 * Every import counts for cycles, type-only ones and worker threads included: files in a cycle cannot be understood one after the other,
 * whatever the compiler erases. A type that two files need is a noun of its own and gets its own file.
 */
import { posix } from 'node:path';
import { type Import, importsOf, packageOf } from './import.ts';
import { isFrontDoor, isTest, LIBRARY_IMPORTS, PACKAGE_ROOMS, ROOM_IMPORTS, roomOf } from './room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

type Edge = { readonly to: string; readonly line: number };

export function checkRooms(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  const known = new Set(files.map((file) => file.path));
  const graph = new Map<string, Edge[]>();

  for (const { path, source } of files) {
    if (!source || !/^(?:src|test|bench)\//.test(path)) continue;
    const report = (line: number, rule: string, message: string) =>
      violations.push({ file: path, line, rule, message });
    const room = roomOf(path);
    if (room !== undefined && path !== 'src/index.ts' && !Object.hasOwn(ROOM_IMPORTS, room)) {
      report(1, 'room', 'lies in no room of scripts/tidy/room-map.ts');
      continue;
    }
    const edges: Edge[] = [];
    for (const found of importsOf(source)) {
      const { specifier, line } = found;
      if (specifier === undefined) {
        if (room !== undefined && !isTest(path))
          report(line, 'computed-import', 'imports a computed name, which no check can follow');
        continue;
      }
      if (specifier.startsWith('.')) {
        const target = posix.join(posix.dirname(path), specifier);
        if (!known.has(target)) {
          if (isModuleFile(found)) report(line, 'missing-file', `names ${target}, which does not exist`);
          continue;
        }
        const fault = room === undefined ? outsideFault(target) : roomFault(room, target);
        if (fault) report(line, fault[0], fault[1]);
        edges.push({ to: target, line });
      }
      const name = packageOf(specifier);
      if (name !== undefined && room !== undefined && !isTest(path)) {
        const fault = packageFault(room, name);
        if (fault) report(line, 'package', fault);
      }
    }
    if (room !== undefined) graph.set(path, edges);
  }
  return [...violations, ...cycles(graph)];
}

function isModuleFile(found: Import): boolean {
  return found.kind === 'url' || /\.[cm]?[jt]sx?$/.test(found.specifier ?? '') || !/\.\w+$/.test(found.specifier ?? '');
}

function outsideFault(target: string): [rule: string, message: string] | undefined {
  if (roomOf(target) === undefined || isFrontDoor(target)) return undefined;
  return ['front-door', `imports ${target} past its front door`];
}

function roomFault(room: string, target: string): [rule: string, message: string] | undefined {
  const other = roomOf(target);
  if (other === undefined) return ['room', `imports ${target}, which lies outside of src/`];
  if (other === room) return undefined;
  const allowed = room === '' ? LIBRARY_IMPORTS : ROOM_IMPORTS[room]!;
  if (!allowed.includes(other)) {
    const speaker = room === '' ? 'the library' : `room ${room}`;
    return ['room', `${speaker} may not import ${other === '' ? 'the library' : `room ${other}`}`];
  }
  return target === `src/${other}/index.ts` ? undefined : ['front-door', `imports ${target} past its front door`];
}

function packageFault(room: string, name: string): string | undefined {
  if (!Object.hasOwn(PACKAGE_ROOMS, name)) return `package ${name} has no room in scripts/tidy/room-map.ts`;
  const rooms = PACKAGE_ROOMS[name]!;
  return rooms.includes(room) ? undefined : `package ${name} belongs to ${rooms.join(' and ')}`;
}

/** One violation for each cycle that a depth-first walk in path order closes. */
function cycles(graph: ReadonlyMap<string, readonly Edge[]>): Violation[] {
  const violations: Violation[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string) => {
    trail.push(path);
    for (const { to, line } of graph.get(path) ?? []) {
      const start = trail.indexOf(to);
      if (start >= 0) {
        const message = [...trail.slice(start), to].join(' -> ');
        violations.push({ file: path, line, rule: 'cycle', message });
      } else if (!done.has(to)) visit(to);
    }
    trail.pop();
    done.add(path);
  };
  for (const path of graph.keys()) if (!done.has(path)) visit(path);
  return violations;
}
