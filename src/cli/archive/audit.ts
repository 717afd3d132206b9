/** `pinakes audit`: who did what to the archive. */
import type { Archive } from '../../archive/index.ts';
import { badArgument, formatW3cDate } from '../../base/index.ts';
import { AUDIT_ACTIONS, type AuditEntry, openAudit } from '../../server/index.ts';
import { type ArchiveCommandOptions, parseTimeOption } from '../archive-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { printable } from '../terminal.ts';

export type AuditOptions = ArchiveCommandOptions & {
  readonly since?: string;
  readonly until?: string;
  readonly who?: string;
  readonly action?: string;
  readonly limit?: string;
};

const LIMIT = 50;
const PAGE = 500;

export async function archiveAudit(
  { terminal, signal }: CommandContext,
  archive: Archive,
  options: AuditOptions,
): Promise<number> {
  const { since, until, who, action, limit, json } = options;
  const query = {
    since: since === undefined ? undefined : parseTimeOption(since),
    until: until === undefined ? undefined : parseTimeOption(until, 'end') + 1,
    who,
    action: actionOf(action),
  };
  const wanted = limitOf(limit, since === undefined ? LIMIT : Number.POSITIVE_INFINITY);
  const log = await openAudit(archive.directory, archive.database);
  const entries: AuditEntry[] = [];
  let after: string | undefined;
  do {
    signal.throwIfAborted();
    const page = await log.read({ ...query, after, limit: Math.min(PAGE, wanted - entries.length) });
    entries.push(...page.entries);
    after = page.next;
  } while (after !== undefined && entries.length < wanted);
  if (entries.length === 0) terminal.say(emptiness(options));
  for (const entry of entries.reverse()) {
    if (json) await terminal.json({ ...entry, time: formatW3cDate(entry.time) });
    else await terminal.line(printable(lineOf(entry)));
  }
  if (after !== undefined && !json)
    terminal.say(`These are the last ${entries.length}; --limit or --since shows more.`);
  return EXIT_FINE;
}

function emptiness({ since, until, who, action }: AuditOptions): string {
  const isFiltered = [since, until, who, action].some((option) => option !== undefined);
  if (isFiltered) return 'Nobody did anything that matches. Leave out options to see more.';
  return 'Nobody has done anything yet. Changes, exports and sign-ins are entered from now on.';
}

function lineOf({ time, who, action, outcome, what, route, address, code }: AuditEntry): string {
  const role = who.role === undefined ? '' : ` (${who.role})`;
  const name = `${who.name === '' ? 'somebody' : who.name}${role}${address === undefined ? '' : ` at ${address}`}`;
  const facts = what === undefined ? '' : `  ${JSON.stringify(what)}`;
  return `${formatW3cDate(time)}  ${name}  ${action} ${outcome}${code === undefined ? '' : ` ${code}`}  ${route ?? ''}${facts}`;
}

function actionOf(text: string | undefined): AuditEntry['action'] | undefined {
  const action = AUDIT_ACTIONS.find((one) => one === text);
  if (text !== undefined && !action) throw badArgument(`--action ${text}`, AUDIT_ACTIONS.join(', '));
  return action;
}

function limitOf(text: string | undefined, preset: number): number {
  if (text === undefined) return preset;
  if (!/^[1-9]\d{0,6}$/.test(text)) throw badArgument(`--limit ${text}`, 'a number of entries');
  return Number(text);
}
