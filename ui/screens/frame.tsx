/**
 * A page as it was: a slim banner of ours above the replayed page, which follows when links inside the page are used.
 * `if_` has no banner.
 */
import { useRef, useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { Calendar, Neighbours } from '../api/replies.ts';
import { useInfo, useReply } from '../api/request.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { fullTimestamp, pathTo } from '../app/route.ts';
import { formatDay, shownUrl, w3cDate } from '../app/wording.ts';
import { FrameBanner } from '../components/frame-banner.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';
import { ReplayFrame } from '../components/replay-frame.tsx';

type FrameProperties = { readonly time: string; readonly modifier: '' | 'if_' | 'id_'; readonly url: string };

/** What is shown in the frame at the moment; the frame tells when a link inside it was followed. */
type Shown = { readonly url: string; readonly timestamp: string; readonly title: string };

export function FrameScreen({ time, modifier, url }: FrameProperties) {
  const info = useInfo();
  const requested = `${time} ${url}`;
  const [moved, setMoved] = useState<(Shown & { requested: string }) | undefined>(undefined);
  const isMoved = moved?.requested === requested;
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
          setMoved((before) => (before?.requested === requested ? { ...before, title: message.title } : before));
          return;
        }
        setMoved({ requested, url: message.url, timestamp: message.timestamp, title: message.title });
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
          isStale={nearby.isStale}
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

/** What is shown at a time, and what is before and after it. */
function useNearby(url: string, timestamp: string) {
  const { reply, error } = useReply<Neighbours>(apiPath('neighbours', { url, time: timestamp }));
  const calendar = useReply<Calendar>(apiPath('calendar', { url }));
  const last = useRef<Neighbours>({});
  last.current = reply ?? last.current;
  const { previous, next } = last.current;
  return {
    current: reply?.current,
    previous,
    next,
    isStale: reply === undefined,
    calendar: calendar.reply,
    isMissing: reply !== undefined && !reply.current,
    error,
  };
}

function NothingHere({ url }: { url: string }) {
  const host = URL.parse(url)?.host;
  return (
    <div class="frame-missing">
      <Note title="The archive has no capture of this page.">
        <p>
          <bdi dir="ltr">{shownUrl(url)}</bdi>
        </p>
        {host && (
          <p>
            <a href={pathTo.prefix(`http://${host}/`)}>See what it has of {host}</a>
          </p>
        )}
      </Note>
    </div>
  );
}
