/** One collection: its growth, how much of it was new to the archive, and its files to download. */
import { useMemo } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { Collection, Growth, GrowthPoint, Segment } from '../api/replies.ts';
import { type List, useList, useReply } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatBytes, formatCount, formatPercent, formatSpan, monthName, noun } from '../app/wording.ts';
import { Chart } from '../components/charts/chart.tsx';
import type { ChartData } from '../components/charts/chart-drawing.ts';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';
import { Figure } from './home.tsx';

export function CollectionScreen({ name }: { name: string }) {
  useTitle(`Collection ${name}`);
  const cached = useReply<List<Collection>>(apiPath('collections'));
  const isUnknown = cached.reply !== undefined && !cached.reply.items.some((one) => one.name === name);
  // The collection may be newer than the counts that the server has cached.
  const fresh = useReply<List<Collection>>(isUnknown ? apiPath('collections', { fresh: 'true' }) : undefined);
  const { reply, error, isLoading, reload } = isUnknown ? fresh : cached;
  const collection = reply?.items.find((one) => one.name === name);
  return (
    <>
      <p class="kicker">
        <a href={pathTo.collections()}>Collections</a>
      </p>
      <h1>{name}</h1>
      {isLoading && <Waiting what="Counting the captures of the collection" />}
      {error && <FaultNotice error={error} onRetry={reload} />}
      {reply && !collection && (
        <Note title="The archive has no collection of this name.">
          <p>
            See <a href={pathTo.collections()}>all collections</a>.
          </p>
        </Note>
      )}
      {collection && <Detail collection={collection} />}
    </>
  );
}

function Detail({ collection }: { collection: Collection }) {
  const { name, captures, revisits, payloadBytes, uniquePayloadBytes, storedBytes, first, last } = collection;
  return (
    <>
      <dl class="figures">
        <Figure label={noun(captures, 'capture')} value={formatCount(captures)} />
        <Figure label={noun(revisits, 'stored as a revisit', 'stored as revisits')} value={formatCount(revisits)} />
        <Figure label="as captured" value={formatBytes(payloadBytes)} />
        <Figure label="distinct in this collection" value={formatBytes(uniquePayloadBytes)} />
        <Figure label="on disk" value={formatBytes(storedBytes)} />
        {first && last && <Figure label="captured" value={formatSpan(first, last)} />}
      </dl>
      <GrowthSection name={name} />
      <Segments name={name} />
      <section aria-labelledby="remove">
        <h2 id="remove">Delete</h2>
        <p>
          Captures of other collections keep the contents that they share with this one. You see a preview first.{' '}
          <a href={pathTo.delete({ collection: name })}>Delete this collection</a>
        </p>
      </section>
    </>
  );
}

function GrowthSection({ name }: { name: string }) {
  const { reply, error } = useReply<Growth>(apiPath(`collections/${encodeURIComponent(name)}/growth`));
  const points = reply?.points;
  const data = useMemo(() => (points ? growthOf(points) : undefined), [points]);
  if (error) return <FaultNotice error={error} />;
  if (!points || !data || points.length === 0) return null;
  return (
    <Chart
      title="Growth"
      description={`Bytes captured${points.length < FEW_MONTHS ? '' : ' up to each month'}, and the part that was new to the archive.`}
      data={data}
    >
      <ul class="legend" aria-hidden="true">
        <li>
          <span class="swatch light" /> as captured
        </li>
        <li>
          <span class="swatch dark" /> new to the archive
        </li>
      </ul>
      <details>
        <summary>As a table</summary>
        <table class="stacking">
          <caption class="unseen">Growth by month</caption>
          <thead>
            <tr>
              <th scope="col">Month</th>
              <th scope="col" class="number">
                Captures
              </th>
              <th scope="col" class="number">
                Duplicates
              </th>
              <th scope="col" class="number">
                As captured
              </th>
              <th scope="col" class="number">
                New
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map((point) => (
              <tr key={point.month}>
                <th scope="row">
                  {monthName(Number(point.month.slice(5)))} {point.month.slice(0, 4)}
                </th>
                <td data-label="Captures" class="number">
                  {formatCount(point.captures)}
                </td>
                <td data-label="Duplicates" class="number">
                  {formatPercent(point.duplicateCaptures, point.captures)}
                </td>
                <td data-label="As captured" class="number">
                  {formatBytes(point.payloadBytes)}
                </td>
                <td data-label="New" class="number">
                  {formatBytes(point.newBytes)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </Chart>
  );
}

/** Fewer months than this are drawn as bars. */
const FEW_MONTHS = 4;

/** Running totals at the end of each month. They begin with 0 at the start of the first month. */
function growthOf(points: readonly GrowthPoint[]): ChartData {
  if (points.length < FEW_MONTHS) return barsOf(points);
  const seconds = (month: string, later: number) =>
    Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)) - 1 + later, 1) / 1000;
  let [captured, fresh] = [0, 0];
  const sums = points.map(({ payloadBytes, newBytes }) => {
    captured += payloadBytes;
    fresh += newBytes;
    return { captured, fresh };
  });
  return {
    kind: 'areas',
    times: [seconds(points[0]!.month, 0), ...points.map(({ month }) => seconds(month, 1))],
    series: [
      { label: 'as captured', bytes: [0, ...sums.map((sum) => sum.captured)] },
      { label: 'new to the archive', bytes: [0, ...sums.map((sum) => sum.fresh)] },
    ],
  };
}

function barsOf(points: readonly GrowthPoint[]): ChartData {
  return {
    kind: 'bars',
    unit: 'bytes',
    names: points.map(({ month }) => `${monthName(Number(month.slice(5))).slice(0, 3)} ${month.slice(0, 4)}`),
    series: [
      { label: 'as captured', values: points.map(({ payloadBytes }) => payloadBytes) },
      { label: 'new to the archive', values: points.map(({ newBytes }) => newBytes) },
    ],
  };
}

function Segments({ name }: { name: string }) {
  const list = useList<Segment>(apiPath('segments', { collection: name }));
  return (
    <section aria-labelledby="segments">
      <h2 id="segments">Files</h2>
      <p class="muted">The WARC files (segments) of this collection. Any WARC tool can read them.</p>
      {list.items.length > 0 && (
        <ul class="files">
          {list.items.map((segment) => (
            <li key={`${segment.volume}/${segment.name}`}>
              <a href={segment.href} download>
                {segment.name}
              </a>
              <span class="muted">
                {formatBytes(segment.bytes)}, volume {segment.volume},{' '}
                {segment.state === 'open' ? 'still growing' : segment.state}
                {segment.deadBytes > 0 && `, ${formatBytes(segment.deadBytes)} of deleted captures`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {list.isLoading && <Waiting what="Fetching files" />}
      {list.error && <FaultNotice error={list.error} onRetry={list.more} />}
      {list.hasMore && !list.isLoading && (
        <button type="button" class="more" onClick={list.more}>
          Show more files
        </button>
      )}
    </section>
  );
}
