/** The audit log: who did what, when, from where, and how it ended. */
import { useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { AuditAction, AuditEntry, AuditOutcome } from '../api/replies.ts';
import { useList } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatClock, formatDay, shortened } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { FaultNotice, Note, Waiting, withCode } from '../components/notice.tsx';

const TYPING_MS = 350;
const ABOUT_LENGTH_MAX = 90;

const ACTIONS: Readonly<Record<AuditAction, string>> = {
  add: 'Add',
  cancel: 'Stop a job',
  command: 'Other command',
  compact: 'Compact',
  crawl: 'Crawl',
  delete: 'Delete',
  export: 'Export',
  job: 'Other job',
  rebuild: 'Rebuild the catalog',
  serve: 'Serve',
  'sign-in': 'Sign in',
  'sign-out': 'Sign out',
  takedown: 'Take down',
  token: 'Change tokens',
  verify: 'Verify',
  volume: 'Change storage',
};

const OUTCOMES: Readonly<Record<AuditOutcome, string>> = {
  begun: 'begun',
  done: 'done',
  refused: 'refused',
  failed: 'failed',
  cancelled: 'stopped',
};

export function AuditScreen() {
  useTitle('Audit log');
  return (
    <>
      <p class="kicker">
        <a href={pathTo.jobs()}>Jobs</a>
      </p>
      <h1>Audit log</h1>
      <p class="lead">
        Who added, deleted, exported or signed in, the newest first. {withCode('`pinakes audit` prints the same.')}
      </p>
      <AccessGate why="Seeing who did what" right="admin">
        <Log />
      </AccessGate>
    </>
  );
}

type Filter = { readonly who: string; readonly action: string; readonly since: string };

const NO_FILTER: Filter = { who: '', action: '', since: '' };

function Log() {
  const [filter, setFilter] = useState(NO_FILTER);
  /** A new key empties the fields. */
  const [round, setRound] = useState(0);
  const clear = () => {
    setFilter(NO_FILTER);
    setRound(round + 1);
  };
  const { who, action, since } = filter;
  const path = apiPath('audit', {
    who: who.trim() || undefined,
    action: action || undefined,
    since: since.replaceAll('-', '') || undefined,
  });
  const { items, error, isLoading, hasMore, more } = useList<AuditEntry>(path);
  const isFiltered = who.trim() !== '' || action !== '' || since !== '';
  return (
    <>
      <FilterForm key={round} filter={filter} onChange={setFilter} />
      {error && <FaultNotice error={error} />}
      {items.length > 0 && <Entries entries={items} />}
      {items.length === 0 && isLoading && <Waiting what="Fetching the log" />}
      {items.length === 0 && !isLoading && !error && <Nothing isFiltered={isFiltered} onClear={clear} />}
      {hasMore && (
        <button type="button" class="more" disabled={isLoading} onClick={more}>
          Show earlier entries
        </button>
      )}
    </>
  );
}

function Nothing({ isFiltered, onClear }: { isFiltered: boolean; onClear: () => void }) {
  if (!isFiltered)
    return (
      <Note title="Nobody has done anything yet.">
        <p>Adding, deleting, exporting, crawling and signing in are entered here from now on. Looking is not.</p>
      </Note>
    );
  return (
    <Note title="Nobody did anything that matches.">
      <button type="button" onClick={onClear}>
        Show all entries
      </button>
    </Note>
  );
}

function FilterForm({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const [typed, setTyped] = useState(filter.who);
  const [timer, setTimer] = useState<number | undefined>(undefined);
  const search = (who: string) => {
    clearTimeout(timer);
    setTyped(who);
    setTimer(window.setTimeout(() => onChange({ ...filter, who }), TYPING_MS));
  };
  return (
    <form
      class="field-row audit-filter"
      onSubmit={(event) => {
        event.preventDefault();
        clearTimeout(timer);
        onChange({ ...filter, who: typed });
      }}
    >
      <div class="field">
        <label for="audit-who">Who</label>
        <input
          id="audit-who"
          type="text"
          autocomplete="off"
          placeholder="Part of a name"
          value={typed}
          onInput={(event) => search(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for="audit-action">Did what</label>
        <select
          id="audit-action"
          value={filter.action}
          onChange={(event) => onChange({ ...filter, action: event.currentTarget.value })}
        >
          <option value="">Anything</option>
          {Object.entries(ACTIONS).map(([action, words]) => (
            <option key={action} value={action}>
              {words}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="audit-since">Since</label>
        <input
          id="audit-since"
          type="date"
          value={filter.since}
          onChange={(event) => onChange({ ...filter, since: event.currentTarget.value })}
        />
      </div>
    </form>
  );
}

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <table class="stacking audit">
      <caption class="unseen">Who did what, the newest first</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Did what</th>
          <th scope="col">About</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry, index) => (
          <Entry key={entry.id} entry={entry} isNewDay={formatDay(entry.time) !== dayBefore(entries, index)} />
        ))}
      </tbody>
    </table>
  );
}

function dayBefore(entries: readonly AuditEntry[], index: number): string {
  const before = entries[index - 1];
  return before ? formatDay(before.time) : '';
}

function Entry({ entry, isNewDay }: { entry: AuditEntry; isNewDay: boolean }) {
  const { time, who, action, outcome, code, address, route, what } = entry;
  const facts = recordOf(what);
  const job = typeof facts.job === 'string' ? facts.job : undefined;
  const isBad = outcome === 'refused' || outcome === 'failed';
  return (
    <>
      {isNewDay && (
        <tr class="audit-day">
          <th scope="colgroup" colSpan={4}>
            {formatDay(time)}
          </th>
        </tr>
      )}
      <tr>
        <td class="clock">
          <time dateTime={time}>{formatClock(time)}</time>
        </td>
        <th scope="row">
          {who.name || 'Somebody'}
          <span class="audit-who">{whoWords(entry)}</span>
        </th>
        <td class="audit-action">
          {ACTIONS[action]}
          <span class={isBad ? 'audit-outcome bad' : 'audit-outcome'}>{OUTCOMES[outcome]}</span>
        </td>
        <td class="audit-about">
          {job === undefined ? (
            aboutWords(facts) || fromWords(address)
          ) : (
            <a href={pathTo.job(job)}>{aboutWords(facts) || 'The job'}</a>
          )}
          <details>
            <summary>Details</summary>
            <dl class="facts">
              {route && <Fact name="By" value={route} />}
              {address && <Fact name="From" value={address} />}
              {who.id && <Fact name="Id" value={who.id} />}
              {code && <Fact name="Error" value={code} />}
            </dl>
            {what !== undefined && <pre class="log">{JSON.stringify(what, null, 2)}</pre>}
          </details>
        </td>
      </tr>
    </>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function whoWords({ who }: AuditEntry): string {
  if (who.kind === 'person') return who.role ?? '';
  if (who.kind === 'token') return 'token';
  return who.kind === 'system' ? 'user of the machine' : '';
}

function fromWords(address: string | undefined) {
  return address !== undefined && <span class="muted">from {address}</span>;
}

/** What an entry is about, in a few words: the collection, the addresses, the file. */
function aboutWords(facts: Record<string, unknown>): string {
  const input = { ...facts, ...recordOf(facts.input), ...recordOf(recordOf(facts.input).selection) };
  const parts = [
    'collection',
    'url',
    'prefix',
    'seeds',
    'paths',
    'arguments',
    'name',
    'key',
    'file',
    'captures',
    'reason',
  ]
    .map((field) => wordsOf(field, input[field]))
    .filter((words) => words !== '');
  return shortened([...new Set(parts)].join(', '), ABOUT_LENGTH_MAX);
}

function wordsOf(field: string, value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(', ');
  if (field === 'captures' && typeof value === 'number') return `${value} captures`;
  return typeof value === 'string' ? value : '';
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
