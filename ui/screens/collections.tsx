/** All collections: their sizes, and how much each repeats itself and the collection before it. */
import { useMemo } from 'preact/hooks';
import type { CollectionStats } from '../api/replies.ts';
import { useStats } from '../api/stats.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatCount, formatPercent, formatShortDay } from '../app/wording.ts';
import { Chart } from '../components/charts/chart.tsx';
import type { ChartData } from '../components/charts/chart-drawing.ts';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';

export function CollectionsScreen() {
  useTitle('Collections');
  const { reply: stats, error, isLoading, reload } = useStats();
  return (
    <>
      <h1>Collections</h1>
      {isLoading && <Waiting what="Counting the captures of all collections" />}
      {error && <FaultNotice error={error} onRetry={reload} />}
      {stats?.collections.length === 0 && (
        <Note title="There are no collections yet.">
          <p>
            A collection is a named group of captures, for example one crawl or one project. It is created when you{' '}
            <a href={pathTo.jobs()}>add files</a> to it.
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
      <p class="lead">Collections share contents. Each collection can still be deleted by itself.</p>
      <Chart
        title="Duplicates"
        description="For each collection: the share of captures whose content the collection has more than once, the share whose content is also in the previous collection, and the share of addresses that are also in the previous collection."
        data={data}
      >
        <ul class="legend" aria-hidden="true">
          <li>
            <span class="swatch dark" /> duplicates within the collection
          </li>
          <li>
            <span class="swatch middle" /> duplicates of the previous collection
          </li>
          <li>
            <span class="swatch light" /> addresses in both
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
            Duplicates of the previous
          </th>
          <th scope="col" class="number">
            Addresses in both
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
            <td data-label="Duplicates of the previous" class="number">
              {share(one.duplicatesOfPrevious, one.contents)}
            </td>
            <td data-label="Addresses in both" class="number">
              {share(one.persistentUrls, one.urls)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The first collection has no previous one. */
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
      {
        label: 'duplicates within the collection',
        values: collections.map((one) => percent(one.duplicates, one.contents)),
      },
      {
        label: 'duplicates of the previous collection',
        values: collections.map((one) => percent(one.duplicatesOfPrevious, one.contents)),
      },
      { label: 'addresses in both', values: collections.map((one) => percent(one.persistentUrls, one.urls)) },
    ],
  };
}
