/**
 * Rules about imports: rooms import only the rooms of the map, through their front doors; test/ and bench/ see front
 * doors only; packages belong to rooms; browser code imports itself only; files of src/ form no cycle.
 *
 * Every import counts for cycles, also type-only imports and worker threads: files in a cycle cannot be understood one
 * after another, even when the compiler erases the import. A type that two files need is a noun and gets its own file.
 */
import { posix } from 'node:path';
import { type Import, importsOf, packageOf } from './import.ts';
import {
  BROWSER_FOLDER,
  isBrowserCode,
  isFrontDoor,
  isTest,
  LIBRARY_IMPORTS,
  PACKAGE_ROOMS,
  ROOM_IMPORTS,
  roomOf,
} from './room-map.ts';
import type { TextFile } from './tree.ts';
import type { Violation } from './violation.ts';

type Edge = { readonly to: string; readonly line: number };
type Fault = readonly [rule: string, message: string];

export function checkRooms(files: readonly TextFile[]): Violation[] {
  const violations: Violation[] = [];
  const known = new Set(files.map((file) => file.path));
  const graph = new Map<string, Edge[]>();

  for (const { path, source } of files) {
    if (!source || !/^(?:src|test|bench)\//.test(path)) continue;
    const report = (line: number, [rule, message]: Fault) => violations.push({ file: path, line, rule, message });
    const room = roomOf(path);
    if (room !== undefined && path !== 'src/index.ts' && !Object.hasOwn(ROOM_IMPORTS, room)) {
      report(1, ['room', 'lies in no room of scripts/tidy/room-map.ts']);
      continue;
    }
    const edges: Edge[] = [];
    for (const found of importsOf(source)) {
      const target = targetOf(found, path);
      const fault = importFault(found, path, target, known);
      if (fault) report(found.line, fault);
      if (target !== undefined && known.has(target)) edges.push({ to: target, line: found.line });
    }
    if (room !== undefined) graph.set(path, edges);
  }
  return [...violations, ...cycles(graph)];
}

/** Resolves a relative import to a path. */
function targetOf({ specifier }: Import, path: string): string | undefined {
  return specifier?.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined;
}

function importFault(
  found: Import,
  path: string,
  target: string | undefined,
  known: ReadonlySet<string>,
): Fault | undefined {
  const room = roomOf(path);
  if (isBrowserCode(path) !== isBrowserCode(target ?? '') && !isTest(path)) return browserFault(found, path);
  if (target !== undefined && known.has(target))
    return room === undefined ? outsideFault(target) : roomFault(room, target);
  if (target !== undefined)
    return isModuleFile(found) ? ['missing-file', `names ${target}, which does not exist`] : undefined;
  if (room === undefined || isTest(path)) return undefined;
  if (found.specifier === undefined) return ['computed-import', 'imports a computed name, which no check can follow'];
  const name = packageOf(found.specifier);
  return name === undefined ? undefined : packageFault(room, name);
}

function browserFault({ specifier }: Import, path: string): Fault | undefined {
  if (!isBrowserCode(path)) return ['browser', 'imports browser code, which is reached by its bundle only'];
  if (specifier === undefined) return undefined;
  return ['browser', `imports ${specifier}; browser code imports nothing from outside of ${BROWSER_FOLDER}`];
}

function isModuleFile(found: Import): boolean {
  return found.kind === 'url' || /\.[cm]?[jt]sx?$/.test(found.specifier ?? '') || !/\.\w+$/.test(found.specifier ?? '');
}

function outsideFault(target: string): Fault | undefined {
  if (roomOf(target) === undefined || isFrontDoor(target)) return undefined;
  return ['front-door', `imports ${target} past its front door`];
}

function roomFault(room: string, target: string): Fault | undefined {
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

function packageFault(room: string, name: string): Fault | undefined {
  if (!Object.hasOwn(PACKAGE_ROOMS, name))
    return ['package', `package ${name} has no room in scripts/tidy/room-map.ts`];
  const rooms = PACKAGE_ROOMS[name]!;
  return rooms.includes(room) ? undefined : ['package', `package ${name} belongs to ${rooms.join(' and ')}`];
}

/** One violation for each cycle that a depth-first walk in path order finds. */
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
