/**
 * `slim compare`: the differences between two manifests, to validate a conversion or a run. Captures are compared by
 * URI, date and content; a revisit has the content of the record it refers to. A correct run shows no differences.
 */
import type { Database } from '../database.ts';
import { manifestSource } from '../manifest/manifest-source.ts';
import { withStageDirectory } from '../stage-directory.ts';

export type CompareOptions = {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /**
   * The temporary files are in a directory beside this path, whose name has some letters added; it is removed
   * afterwards.
   */
  readonly directory: string;
  readonly onDifference: (difference: Difference) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
};

export type Difference = {
  readonly kind: 'missing' | 'added';
  readonly uri: string;
  readonly date: string;
  /**
   * The digest of the content. For a revisit without its original in the manifest: `declared` and its declared digest.
   */
  readonly content: string;
  readonly count: number;
};

export type CompareReport = {
  readonly capturesBefore: number;
  readonly capturesAfter: number;
  readonly revisitsBefore: number;
  readonly revisitsAfter: number;
  /** Revisits whose original is not in the same manifest, neither by id nor by URI and date. */
  readonly unresolvedBefore: number;
  readonly unresolvedAfter: number;
  readonly missing: number;
  readonly added: number;
};

export async function slimCompare(options: CompareOptions): Promise<CompareReport> {
  return withStageDirectory(options.directory, options.signal, async (directory, database) => {
    const before = await manifestSource(database, options.before, directory);
    const after = await manifestSource(database, options.after, directory);
    const withSizes = !before.isWithoutSizes && !after.isWithoutSizes;
    await makeCaptures(database, 'before', before.sql, withSizes);
    await makeCaptures(database, 'after', after.sql, withSizes);
    const totals = { missing: 0, added: 0 };
    for await (const row of database.rows(['uri', 'date', 'content', 'difference'], `(${DIFFERENCES}) ${ORDER}`)) {
      const difference = differenceOf(row);
      totals[difference.kind] += difference.count;
      await options.onDifference(difference);
    }
    const [capturesBefore, revisitsBefore, unresolvedBefore] = await countsOf(database, 'before');
    const [capturesAfter, revisitsAfter, unresolvedAfter] = await countsOf(database, 'after');
    return {
      capturesBefore: capturesBefore!,
      capturesAfter: capturesAfter!,
      revisitsBefore: revisitsBefore!,
      revisitsAfter: revisitsAfter!,
      unresolvedBefore: unresolvedBefore!,
      unresolvedAfter: unresolvedAfter!,
      ...totals,
    };
  });
}

/**
 * Creates the table of captures with their contents. Originals are looked up first by id, then by URI and second. A
 * missing URI or date is stored as an empty text, because null does not join.
 */
async function makeCaptures(database: Database, name: string, source: string, withSizes: boolean): Promise<void> {
  const size = withSizes ? `|| ' ' || payload_bytes::VARCHAR` : '';
  await database.run(`CREATE TEMP VIEW ${name}_content AS
    SELECT uri, date, time_ms, record_id, digest ${size} AS content FROM ${source}
    WHERE digest IS NOT NULL AND type <> 'revisit' AND type <> 'request'`);
  await database.run(`CREATE TEMP TABLE ${name}_capture AS
    SELECT coalesce(uri, '') AS uri, coalesce(date, '') AS date, content, false AS is_revisit, true AS is_resolved
    FROM ${name}_content
    UNION ALL
    SELECT coalesce(r.uri, ''), coalesce(r.date, ''),
      coalesce(any_value(i.content), any_value(u.content), 'declared ' || any_value(r.declared_digest), 'unknown'),
      true, any_value(i.content) IS NOT NULL OR any_value(u.content) IS NOT NULL
    FROM (SELECT *, row_number() OVER () AS number FROM ${source} WHERE type = 'revisit') AS r
    LEFT JOIN ${name}_content AS i ON lower(trim(i.record_id, '<> ')) = lower(trim(r.refers_to, '<> '))
    LEFT JOIN ${name}_content AS u ON u.uri = r.refers_to_uri AND u.time_ms // 1000 = r.refers_to_ms // 1000
    GROUP BY r.number, r.uri, r.date`);
}

const DIFFERENCES = `SELECT uri, date, content, coalesce(a.n, 0) - coalesce(b.n, 0) AS difference
  FROM (SELECT uri, date, content, count(*) AS n FROM before_capture GROUP BY ALL) AS b
  FULL JOIN (SELECT uri, date, content, count(*) AS n FROM after_capture GROUP BY ALL) AS a USING (uri, date, content)
  WHERE coalesce(a.n, 0) <> coalesce(b.n, 0)`;
const ORDER = 'ORDER BY uri, date, content';

async function countsOf(database: Database, name: string): Promise<number[]> {
  const columns = ['count(*)', 'count(*) FILTER (is_revisit)', 'count(*) FILTER (NOT is_resolved)'];
  return (await database.first(columns, `${name}_capture`)).map(Number);
}

function differenceOf([uri = '', date = '', content = '', difference]: readonly string[]): Difference {
  const count = Number(difference);
  return { kind: count < 0 ? 'missing' : 'added', uri, date, content, count: Math.abs(count) };
}
