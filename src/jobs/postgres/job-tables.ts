/**
 * The tables of jobs in a cluster.
 *
 * - `job_history` has one row: the name of the history, and the number of the last change. A transaction that changes
 *   jobs locks this row first. So changes are made one at a time, their numbers become visible in their order, and what
 *   a change depends on in other rows (is the lane free, is the server alive) cannot move under it. Such a transaction
 *   has few short statements, and there are a few of them a second.
 * - `job_servers` has the servers, each with the end of its lease by the clock of the database. All claims of a server
 *   end with its lease: a dead server is dead for all its jobs. The lease is renewed without the lock above. A lease
 *   that has ended is never renewed; its server comes back as another one.
 * - `jobs` has one row for each job. What is JSON is kept as text, because jsonb has no character 0.
 * - `job_lines` has the last lines of each log, so that a line costs as much as itself.
 *
 * Why not pg-boss: there a job that runs has a time-out, and what is needed is a lease with an epoch that fences its
 * holder; and the state of a job, its log, its number and its lane have to change in one transaction. FOR UPDATE SKIP
 * LOCKED alone would not do either: it locks the row that is claimed, and not the lane.
 */
import type { Migration } from '../../database/index.ts';

const CREATE: Migration = (schema) => `
create table ${schema}.job_history (
  is_only boolean primary key default true check (is_only),
  name text not null,
  change bigint not null
);
insert into ${schema}.job_history (name, change) values (replace(gen_random_uuid()::text, '-', ''), 0);
create table ${schema}.job_servers (
  id text primary key,
  name text not null,
  lease_until timestamptz not null
);
create table ${schema}.jobs (
  id text primary key,
  number bigint not null unique,
  change bigint not null unique,
  kind text not null,
  state text not null,
  origin text not null,
  lane text,
  once_key text,
  input text not null,
  is_cancellable boolean not null,
  is_resumable boolean not null,
  is_local boolean not null,
  server_id text,
  server_name text,
  epoch integer not null default 0,
  deaths integer not null default 0,
  is_cancelled boolean not null default false,
  is_kept boolean not null default false,
  created_at bigint not null,
  started_at bigint,
  ended_at bigint,
  progress text,
  report text,
  error text,
  lines integer not null default 0
);
create unique index jobs_running_in_lane on ${schema}.jobs (lane) where state = 'running' and lane is not null;
create index jobs_open on ${schema}.jobs (number) where state in ('queued', 'running');
create table ${schema}.job_lines (
  job text not null references ${schema}.jobs on delete cascade,
  number integer not null,
  line text not null,
  primary key (job, number)
);
`;

/** Who started a job, as JSON. */
const ADD_STARTER: Migration = (schema) => `alter table ${schema}.jobs add column started_by text`;

export const JOB_MIGRATIONS: readonly Migration[] = [CREATE, ADD_STARTER];

/** The clock of the database, in milliseconds. */
export const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';
