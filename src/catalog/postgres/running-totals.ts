/**
 * The totals of a catalog as a sum of rows (tables.ts). A commit adds its changes to any row that no other commit is
 * adding to, so commits never wait for one another here. There are as many rows as commits have ever been made at one
 * moment. The sum in one statement is exact, because the change of a row is part of the commit that it counts.
 */
import type { Query, Row } from '../../database/index.ts';
import type { Totals } from '../catalog.ts';
import { number } from './rows.ts';
import type { Tables } from './tables.ts';

const COLUMNS = 'captures, blocks, revisits, payload_bytes, unique_payload_bytes';

const SUMS = COLUMNS.split(', ').map((name) => `coalesce(sum(${name}), 0)::bigint as ${name}`);

export async function readTotals(query: Query, { totals }: Tables): Promise<Totals> {
  const [row] = await query(`select ${SUMS.join(', ')} from ${totals}`);
  return totalsOf(row!);
}

/** Adds the changes that a commit makes. */
export async function addToTotals(query: Query, { totals }: Tables, change: Totals): Promise<void> {
  const { captures, blocks, revisits, payloadBytes, uniquePayloadBytes } = change;
  const values = [captures, blocks, revisits, payloadBytes, uniquePayloadBytes];
  if (values.every((value) => value === 0)) return;
  const sums = COLUMNS.split(', ').map((name, index) => `${name} = t.${name} + $${index + 1}::bigint`);
  await query(
    `with free as (select slot from ${totals} limit 1 for update skip locked),
       added as (update ${totals} t set ${sums.join(', ')} from free where t.slot = free.slot returning t.slot)
     insert into ${totals} (${COLUMNS})
     select $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint where not exists (select from added)`,
    values,
  );
}

/** The totals as the tables of captures and blocks have them. Reads both tables. */
export async function countTotals(query: Query, { captures, blocks }: Tables, revisitKind: number): Promise<Totals> {
  const [row] = await query(
    `select
       (select count(*) from ${captures}) as captures,
       (select count(*) from ${captures} where kind = ${revisitKind}) as revisits,
       (select coalesce(sum(b.size), 0)::bigint from ${captures} c join ${blocks} b using (digest, overflow))
         as payload_bytes,
       (select count(*) from ${blocks}) as blocks,
       (select coalesce(sum(size), 0)::bigint from ${blocks}) as unique_payload_bytes`,
  );
  return totalsOf(row!);
}

function totalsOf(row: Row): Totals {
  return {
    captures: number(row.captures),
    blocks: number(row.blocks),
    revisits: number(row.revisits),
    payloadBytes: number(row.payload_bytes),
    uniquePayloadBytes: number(row.unique_payload_bytes),
  };
}
