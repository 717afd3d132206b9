/** Collections: what each holds, and how much they repeat themselves and one another. */
import { useMemo } from 'preact/hooks';
import type { CollectionStats } from '../api/replies.ts';
import { useStats } from '../api/stats.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatCount, formatPercent, formatShortDay } from '../app/wording.ts';
import { Chart } from '../components/chart.tsx';
import type { ChartData } from '../components/chart-drawing.ts';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';

export function CollectionsScreen() {
  useTitle('Collections');
  const { reply: stats, error, isLoading, reload } = useStats();
  return (
    <>
      <h1>Collections</h1>
      {isLoading && <Waiting what="Counting what the collections hold" />}
      {error && <FaultNotice error={error} onRetry={reload} />}
      {stats?.collections.length === 0 && (
        <Note title="There is no collection yet.">
          <p>
            A collection is a name for what belongs together: one crawl, one project. It begins with the first{' '}
            <a href={pathTo.jobs()}>files that are added</a> to it.
          </p>
        </Note>
      )}
      {stats && stats.collections.length > 0 && <Collections collections={stats.collections} />}
    </>
  );
}

function Collections({ collections }: { collections: readonly CollectionStats[] }) {
  const data = useMemo(() => duplicationOf(collections), [collections]);
  return (
    <>
      <p class="lead">Contents are shared between collections; each collection can be deleted by itself.</p>
      <Chart
        title="Duplicates"
        description="Of the captures of each collection: whose content the collection has more than once, and whose content the collection before it has. Of its addresses: those that the collection before it has."
        data={data}
      >
        <ul class="legend" aria-hidden="true">
          <li>
            <span class="swatch dark" /> duplicates within
          </li>
          <li>
            <span class="swatch middle" /> duplicates of the one before
          </li>
          <li>
            <span class="swatch light" /> addresses that persist
          </li>
        </ul>
        <CollectionTable collections={collections} />
      </Chart>
    </>
  );
}

function CollectionTable({ collections }: { collections: readonly CollectionStats[] }) {
  return (
    <table class="stacking">
      <caption class="unseen">Collections in the order of their first captures</caption>
      <thead>
        <tr>
          <th scope="col">Collection</th>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col" class="number">
            Captures
          </th>
          <th scope="col" class="number">
            Addresses
          </th>
          <th scope="col" class="number">
            Duplicates within
          </th>
          <th scope="col" class="number">
            Duplicates of the one before
          </th>
          <th scope="col" class="number">
            Addresses that persist
          </th>
        </tr>
      </thead>
      <tbody>
        {collections.map((one) => (
          <tr key={one.collection}>
            <th scope="row">
              <a href={pathTo.collection(one.collection)}>{one.collection}</a>
            </th>
            <td data-label="From" class="date">
              {formatShortDay(one.firstTime)}
            </td>
            <td data-label="To" class="date">
              {formatShortDay(one.lastTime)}
            </td>
            <td data-label="Captures" class="number">
              {formatCount(one.captures)}
            </td>
            <td data-label="Addresses" class="number">
              {formatCount(one.urls)}
            </td>
            <td data-label="Duplicates within" class="number">
              {formatPercent(one.duplicates, one.contents)}
            </td>
            <td data-label="Duplicates of the one before" class="number">
              {share(one.duplicatesOfPrevious, one.contents)}
            </td>
            <td data-label="Addresses that persist" class="number">
              {share(one.persistentUrls, one.urls)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The first collection has none before it. */
function share(part: number | null | undefined, whole: number): string {
  return typeof part === 'number' ? formatPercent(part, whole) : '\u2013';
}

function duplicationOf(collections: readonly CollectionStats[]): ChartData {
  const percent = (part: number | null | undefined, whole: number) =>
    typeof part === 'number' && whole > 0 ? (100 * part) / whole : undefined;
  return {
    kind: 'bars',
    unit: 'percent',
    names: collections.map(({ collection }) => collection),
    series: [
      { label: 'duplicates within', values: collections.map((one) => percent(one.duplicates, one.contents)) },
      {
        label: 'duplicates of the one before',
        values: collections.map((one) => percent(one.duplicatesOfPrevious, one.contents)),
      },
      { label: 'addresses that persist', values: collections.map((one) => percent(one.persistentUrls, one.urls)) },
    ],
  };
}
