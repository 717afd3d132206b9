/**
 * A replayed page. It runs on an origin of its own, in a sandbox that cannot move the window around it, so that nothing
 * in it reaches these pages, the token or the interface of the server.
 */
import { useEffect, useRef } from 'preact/hooks';
import { replayAddress } from '../app/route.ts';
import { type FrameMessage, readFrameMessage } from './frame-message.ts';

type ReplayFrameProperties = {
  readonly replayOrigin: string;
  readonly timestamp: string;
  readonly url: string;
  readonly title: string;
  /** Links of the page that ask for a new window open in the frame of this name. */
  readonly name?: string;
  onMessage?(message: FrameMessage): void;
};

/** Every message costs requests, so a page that sends many is listened to only so often. */
const PAUSE_MS = 150;

const SANDBOX = 'allow-scripts allow-same-origin allow-forms allow-modals allow-downloads';

/**
 * Ports of one host share cookies: enough of them, set by a hostile page, and no request to that host would be answered
 * any more. So its frame gets a jar of its own, where browsers know of that, which goes with this page. Not behind a
 * proxy, which may let people in by a cookie; the server itself speaks plain HTTP.
 */
function sandboxAttributes(replayOrigin: string) {
  const isShared = location.protocol === 'http:' && new URL(replayOrigin).hostname === location.hostname;
  return { sandbox: SANDBOX, ...(isShared && { credentialless: true }) };
}

export function ReplayFrame({ replayOrigin, timestamp, url, title, name, onMessage }: ReplayFrameProperties) {
  const frame = useRef<HTMLIFrameElement>(null);
  const source = replayAddress(replayOrigin, timestamp, url);
  const listener = useRef(onMessage);
  listener.current = onMessage;
  useEffect(() => {
    let waiting: FrameMessage | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const deliver = () => {
      timer = undefined;
      if (waiting) listener.current?.(waiting);
      waiting = undefined;
    };
    const receive = (event: MessageEvent<unknown>) => {
      if (event.origin !== replayOrigin || event.source !== frame.current?.contentWindow) return;
      const message = readFrameMessage(event.data);
      if (!message) return;
      // A title does not displace the news of a move that it belongs to.
      waiting = message.kind === 'title' && waiting ? { ...waiting, title: message.title } : message;
      timer ??= setTimeout(deliver, PAUSE_MS);
    };
    addEventListener('message', receive);
    return () => {
      removeEventListener('message', receive);
      clearTimeout(timer);
    };
    // What a page said is not told any more once another one is shown.
  }, [replayOrigin, source]);
  // A new element for every address: setting the address of the old one would add a step to the history.
  return (
    <iframe
      key={source}
      name={name}
      ref={frame}
      class="replay"
      title={title}
      {...sandboxAttributes(replayOrigin)}
      src={source}
    />
  );
}
