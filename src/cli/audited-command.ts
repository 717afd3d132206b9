/**
 * Enters the commands that change or export an archive into its audit log, with the user of the machine who typed them:
 * one entry before the first change, and one with the end.
 */
import type { Archive } from '../archive/index.ts';
import type { AuditAction, AuditEntry } from '../server/index.ts';
import type { CommandContext } from './command.ts';
import { EXIT_INTERRUPTED, EXIT_REFUSED } from './outcome.ts';

/** Command -> its action. Other commands only read. */
const ACTIONS: Readonly<Record<string, AuditAction>> = {
  add: 'add',
  compact: 'compact',
  crawl: 'crawl',
  delete: 'delete',
  export: 'export',
  'mirror add': 'volume',
  'mirror restore': 'volume',
  'mirror rm': 'volume',
  'mirror sync': 'export',
  put: 'add',
  rebuild: 'rebuild',
  'snapshot create': 'command',
  'snapshot rm': 'command',
  stream: 'export',
  takedown: 'takedown',
  upgrade: 'command',
  verify: 'verify',
  'volume add': 'volume',
  'volume copies': 'volume',
  'volume migrate': 'volume',
  'volume rebalance': 'volume',
  'volume remove': 'volume',
  'volume set': 'volume',
  'volume take': 'volume',
};

/** Commands that show a preview and ask. They begin when they call `startJob`. */
const ASKING = new Set(['delete', 'takedown']);

/** Runs a command, and enters it if it is one of these. `given` are the arguments and the options. */
export async function audited(
  context: CommandContext,
  archive: Archive,
  { purpose, given }: { readonly purpose: string; readonly given: readonly unknown[] },
  work: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const action = ACTIONS[purpose];
  const { archive: _, json, dryRun, list, ...options } = given.at(-1) as Record<string, unknown>;
  if (action === undefined || dryRun === true || list === true) return work(context);
  const what = { arguments: given.slice(0, -1).filter((argument) => argument !== undefined), ...options };
  const enter = (outcome: AuditEntry['outcome']) => enterCommand(context, archive, { action, purpose, what, outcome });
  let hasBegun = false;
  const begin = async () => {
    hasBegun = true;
    await enter('begun');
  };
  const startJob = async () => {
    await begin();
    await context.startJob?.();
  };
  if (!ASKING.has(purpose)) await begin();
  try {
    const code = await work({ ...context, startJob });
    if (hasBegun) await enter(code === EXIT_INTERRUPTED ? 'cancelled' : code >= EXIT_REFUSED ? 'failed' : 'done');
    return code;
  } catch (error) {
    if (hasBegun) await enter('failed').catch(() => {});
    throw error;
  }
}

type Command = {
  readonly action: AuditAction;
  readonly purpose: string;
  readonly what?: object;
  readonly outcome: AuditEntry['outcome'];
};

/** Enters a command of the user of this machine. */
export async function enterCommand(
  { clock, newId, user }: Pick<CommandContext, 'clock' | 'newId' | 'user'>,
  { directory, database }: Pick<Archive, 'directory' | 'database'>,
  { action, purpose, what, outcome }: Command,
): Promise<void> {
  const { auditedFacts, openAudit } = await import('../server/index.ts');
  const facts = what && auditedFacts(what);
  const log = await openAudit(directory, database);
  await log.append({
    id: newId().replace(/^<urn:uuid:|>$/g, ''),
    time: clock(),
    action,
    who: { kind: 'system', name: user },
    route: `pinakes ${purpose}`,
    ...(facts && { what: facts }),
    outcome,
  });
}
