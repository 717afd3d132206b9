/** The numbers that the catalog deals next, and its life, as the tables `counters` and `state` have them. */
import type { Query } from '../../database/index.ts';
import type { CatalogNumbers } from '../catalog-contents.ts';
import { number } from './rows.ts';
import type { Tables } from './tables.ts';

export async function readNumbers(query: Query, { counters, state }: Tables): Promise<CatalogNumbers> {
  const [row] = await query(
    `select incarnation, is_adopting,
       (select next from ${counters} where name = 'segment') as segment,
       (select next from ${counters} where name = 'sequence') as sequence,
       (select next from ${counters} where name = 'collection') as collection
     from ${state}`,
  );
  return {
    segment: number(row!.segment),
    sequence: number(row!.sequence),
    collection: number(row!.collection),
    incarnation: number(row!.incarnation),
    isAdopting: row!.is_adopting === true,
  };
}

export async function writeNumbers(
  query: Query,
  { counters, state }: Tables,
  { incarnation, isAdopting, ...next }: CatalogNumbers,
): Promise<void> {
  for (const [name, value] of Object.entries(next))
    await query(`update ${counters} set next = $2 where name = $1`, [name, value]);
  await query(`update ${state} set incarnation = $1, is_adopting = $2`, [incarnation, isAdopting]);
}
