/** The right that starting, following and stopping a job needs, as the server has it. Does not use the browser. */
import type { Right } from '../../api/replies.ts';

const RIGHTS: Readonly<Record<string, Right>> = { add: 'add', crawl: 'crawl', delete: 'delete' };

export function rightOfKind(kind: string): Right {
  return RIGHTS[kind] ?? 'admin';
}
