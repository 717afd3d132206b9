/**
 * A page as it was: our slim banner above the replayed page. The banner follows when the reader follows a link inside
 * the page. With `if_` there is no banner.
 */
import { useRef, useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { Calendar, Neighbours } from '../api/replies.ts';
import { useInfo, useReply } from '../api/request.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { fullTimestamp, pathTo } from '../app/route.ts';
import { formatDay, shownUrl, w3cDate } from '../app/wording.ts';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';
import { FrameBanner } from '../components/replay/frame-banner.tsx';
import { ReplayFrame } from '../components/replay/replay-frame.tsx';

type FrameProperties = { readonly time: string; readonly modifier: '' | 'if_' | 'id_'; readonly url: string };

/** The page that the frame shows now. The frame sends a message when the reader follows a link inside it. */
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

  // A page may change its own address by script, to one that the archive does not have.
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
        navigate(pathTo.frame(message.timestamp, message.url, modifier), { replace: true, isAddressOnly: true });
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

/** The capture that is shown for a time, and the captures before and after it. */
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
            <a href={pathTo.prefix(`http://${host}/`)}>See all captures of {host}</a>
          </p>
        )}
      </Note>
    </div>
  );
}
