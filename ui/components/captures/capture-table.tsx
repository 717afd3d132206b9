/** The captures of an address, newest first, one page at a time. The reader can mark two of them to compare. */
import { useState } from 'preact/hooks';
import { apiPath } from '../../api/client.ts';
import type { Capture } from '../../api/replies.ts';
import { useList } from '../../api/request.ts';
import { pathTo } from '../../app/route.ts';
import { formatBytes, formatClock, formatDay, kindOfContent } from '../../app/wording.ts';
import { Icon } from '../icon.tsx';
import { FaultNotice, Waiting } from '../notice.tsx';

const PAGE = 50;

export function CaptureTable({ url, day }: { url: string; day: string | undefined }) {
  const times = day === undefined ? {} : dayBounds(day);
  const list = useList<Capture>(apiPath('captures', { url, order: 'desc', limit: PAGE, ...times }));
  const [marked, setMarked] = useState<readonly Capture[]>([]);
  const mark = (capture: Capture, isMarked: boolean) => {
    const others = marked.filter(({ id }) => id !== capture.id);
    setMarked(isMarked ? [...others, capture].slice(-2) : others);
  };
  return (
    <>
      {list.items.length > 0 && (
        <table class="captures stacking">
          <caption class="unseen">Captures, newest first</caption>
          <thead>
            <tr>
              <th scope="col">
                <span class="unseen">Compare</span>
              </th>
              <th scope="col">Captured (UTC)</th>
              <th scope="col">Content</th>
              <th scope="col">Status</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Collection</th>
            </tr>
          </thead>
          <tbody>
            {list.items.map((capture) => (
              <Row
                key={capture.id}
                capture={capture}
                isMarked={marked.some(({ id }) => id === capture.id)}
                onMark={(isMarked) => mark(capture, isMarked)}
              />
            ))}
          </tbody>
        </table>
      )}
      {list.isLoading && <Waiting what="Fetching captures" />}
      {list.error && <FaultNotice error={list.error} onRetry={list.more} />}
      {list.hasMore && !list.isLoading && (
        <button type="button" class="more" onClick={list.more}>
          Show older captures
        </button>
      )}
      <CompareBar marked={marked} />
    </>
  );
}

function Row({
  capture,
  isMarked,
  onMark,
}: {
  capture: Capture;
  isMarked: boolean;
  onMark: (isMarked: boolean) => void;
}) {
  const { time, timestamp, url, status, mime, payloadBytes, collection } = capture;
  const when = (
    <>
      {formatDay(time)} <span class="clock">{formatClock(time)}</span>
    </>
  );
  return (
    <tr class={isMarked ? 'marked' : undefined}>
      <td class="mark-cell">
        <input
          type="checkbox"
          checked={isMarked}
          aria-label={`Compare the capture of ${formatDay(time)}, ${formatClock(time)}`}
          onChange={(event) => onMark(event.currentTarget.checked)}
        />
      </td>
      <th scope="row" class="when">
        {isShown(capture) ? <a href={pathTo.frame(timestamp, url)}>{when}</a> : when}
      </th>
      <td data-label="Content">
        <Sameness capture={capture} />
      </td>
      <td data-label="Status">
        <span class={status >= 400 ? 'status bad' : 'status'}>{status || '\u2013'}</span>
      </td>
      <td data-label="Type">{kindOfContent(mime)}</td>
      <td data-label="Size" class="number">
        {payloadBytes === null ? '\u2013' : formatBytes(payloadBytes)}
      </td>
      <td data-label="Collection">
        <a href={pathTo.collection(collection)}>{collection}</a>
      </td>
    </tr>
  );
}

function hasContent({ kind, contentKey }: Capture): boolean {
  return kind !== 'revisit' || contentKey !== null;
}

/** A revisit whose original was never added cannot be shown, unless it is a redirect. */
function isShown(capture: Capture): boolean {
  const { status } = capture;
  return hasContent(capture) || (status >= 300 && status <= 399 && status !== 304);
}

function Sameness({ capture }: { capture: Capture }) {
  if (!hasContent(capture)) return <span class="sameness muted">not in the archive</span>;
  const { sameAsPrevious } = capture;
  return (
    <span class={sameAsPrevious ? 'sameness same' : 'sameness changed'}>
      <Icon name={sameAsPrevious ? 'same' : 'changed'} />
      {sameAsPrevious ? 'identical' : 'changed'}
    </span>
  );
}

/** The older capture is on the left, in whichever order the two were marked. */
function CompareBar({ marked }: { marked: readonly Capture[] }) {
  const [a, b] = [...marked].sort((one, other) => (one.timestamp < other.timestamp ? -1 : 1));
  return (
    <div class={a ? 'compare-bar' : 'compare-bar idle'} role="status">
      {!a && <p class="muted">Mark two captures to compare them.</p>}
      {a && !b && <p>{nameOf(a)} is marked. Mark a second capture to compare them.</p>}
      {a && b && (
        <>
          <p>
            {nameOf(a, b)} and {nameOf(b, a)}
          </p>
          <a class="button primary" href={pathTo.compare(a.id, b.id)}>
            Compare
          </a>
        </>
      )}
    </div>
  );
}

/** The day of a capture, with its time if the other capture is of the same day. */
function nameOf({ time }: Capture, other?: Capture): string {
  const day = formatDay(time);
  return other && formatDay(other.time) === day ? `${day}, ${formatClock(time)}` : day;
}

function dayBounds(day: string): { from: string; to: string } {
  const digits = day.replaceAll('-', '');
  return { from: `${digits}000000`, to: `${digits}235959` };
}
