/** A page as it was: a slim banner of ours above the replayed page, which follows when links inside the page are used. `if_` has no banner. */
import { useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { Calendar, Capture, List } from '../api/replies.ts';
import { useInfo, useReply } from '../api/request.ts';
import { navigate, useTitle } from '../navigation.ts';
import { FrameBanner } from '../parts/frame-banner.tsx';
import { FaultNotice, Note, Waiting } from '../parts/notice.tsx';
import { ReplayFrame } from '../parts/replay-frame.tsx';
import { fullTimestamp, pathTo } from '../route.ts';
import { formatDay, shownUrl, w3cDate } from '../wording.ts';

type FrameProperties = { readonly time: string; readonly modifier: '' | 'if_' | 'id_'; readonly url: string };

/** What is shown in the frame at the moment; the frame tells when a link inside it was followed. */
type Shown = { readonly url: string; readonly timestamp: string; readonly title: string };

export function FrameScreen({ time, modifier, url }: FrameProperties) {
  const info = useInfo();
  const asked = `${time} ${url}`;
  const [moved, setMoved] = useState<(Shown & { asked: string }) | undefined>(undefined);
  const isMoved = moved?.asked === asked;
  const shownAddress = isMoved ? moved.url : url;
  const at = isMoved ? moved.timestamp : fullTimestamp(time);
  const nearby = useNearby(shownAddress.split('#')[0]!, at);
  const timestamp = isMoved ? moved.timestamp : (nearby.current?.timestamp ?? at);
  const title = isMoved && moved.title !== '' ? moved.title : shownUrl(shownAddress);
  useTitle(`${title}, ${formatDay(w3cDate(timestamp))}`);

  // An address that a page made for itself while it is shown need not be in the archive.
  const isMissing = nearby.isMissing && !isMoved;
  const frame = info && !isMissing && (
    <ReplayFrame
      replayOrigin={info.replayOrigin}
      timestamp={fullTimestamp(time)}
      url={url}
      name="pinakes-replay"
      title={`Archived page: ${title}`}
      onMessage={(message) => {
        if (message.kind === 'title') {
          setMoved((before) => (before?.asked === asked ? { ...before, title: message.title } : before));
          return;
        }
        setMoved({ asked, url: message.url, timestamp: message.timestamp, title: message.title });
        navigate(pathTo.frame(message.timestamp, message.url, modifier), { replace: true, isQuiet: true });
      }}
    />
  );
  return (
    <div class={modifier === 'if_' ? 'frame bare' : 'frame'}>
      {modifier !== 'if_' && (
        <FrameBanner
          url={shownAddress}
          timestamp={timestamp}
          previous={nearby.previous}
          next={nearby.next}
          calendar={nearby.calendar}
        />
      )}
      <main id="main" class="frame-body" tabIndex={-1}>
        <h1 class="unseen">
          {title}, as it was on {formatDay(w3cDate(timestamp))}
        </h1>
        {frame}
        {!info && <Waiting what="Opening the archived page" />}
        {isMissing && <NothingHere url={url} />}
        {nearby.error && <FaultNotice error={nearby.error} />}
      </main>
    </div>
  );
}

/** The capture nearest to a time, and its neighbours. */
function useNearby(url: string, timestamp: string) {
  const before = useReply<List<Capture>>(apiPath('captures', { url, to: timestamp, order: 'desc', limit: 2 }));
  const after = useReply<List<Capture>>(apiPath('captures', { url, from: timestamp, order: 'asc', limit: 3 }));
  const calendar = useReply<Calendar>(apiPath('calendar', { url }));
  const earlier = before.reply?.items ?? [];
  const later = after.reply?.items ?? [];
  const current = nearest([earlier[0], later[0]], timestamp);
  const all = [...earlier, ...later];
  const isLoaded = before.reply !== undefined && after.reply !== undefined;
  const error = before.error ?? after.error;
  return {
    current,
    previous: all
      .filter((one) => current && one.timestamp < current.timestamp)
      .sort(byTime)
      .at(-1),
    next: all.filter((one) => current && one.timestamp > current.timestamp).sort(byTime)[0],
    calendar: calendar.reply,
    isMissing: (isLoaded && all.length === 0) || error?.status === 404,
    error: error?.status === 404 ? undefined : error,
  };
}

function nearest(captures: readonly (Capture | undefined)[], timestamp: string): Capture | undefined {
  const at = Date.parse(w3cDate(timestamp));
  const distance = (capture: Capture) => Math.abs(Date.parse(capture.time) - at);
  return captures
    .filter((capture) => capture !== undefined)
    .reduce<Capture | undefined>((best, one) => (best && distance(best) <= distance(one) ? best : one), undefined);
}

function byTime(a: Capture, b: Capture): number {
  return a.timestamp < b.timestamp ? -1 : 1;
}

function NothingHere({ url }: { url: string }) {
  const host = URL.parse(url)?.host;
  return (
    <div class="frame-missing">
      <Note title="The archive has no capture of this page.">
        <p>{shownUrl(url)}</p>
        {host && (
          <p>
            <a href={pathTo.prefix(`http://${host}/`)}>See what it has of {host}</a>
          </p>
        )}
      </Note>
    </div>
  );
}
