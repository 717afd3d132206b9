/**
 * A frame with a replayed page. It runs on a separate origin, in a sandbox that cannot navigate the window around it.
 * So scripts of the page cannot reach the web interface, the token or the API of the server.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { apiPath, post } from '../../api/client.ts';
import type { ReplayTicket } from '../../api/replies.ts';
import { useSession } from '../../api/session.ts';
import { replayAddress } from '../../app/route.ts';
import { type FrameMessage, readFrameMessage } from './frame-message.ts';

type ReplayFrameProperties = {
  readonly replayOrigin: string;
  readonly timestamp: string;
  readonly url: string;
  readonly title: string;
  /** Links of the page that would open a new window open in the frame with this name. */
  readonly name?: string;
  onMessage?(message: FrameMessage): void;
};

/** Every message causes requests to the server, so messages are handled at most once in this interval. */
const PAUSE_MS = 150;

const SANDBOX = 'allow-scripts allow-same-origin allow-forms allow-modals allow-downloads';

/**
 * All ports of a host share cookies. A hostile page could set so many cookies that every request to that host would be
 * refused. So the frame gets its own temporary cookie jar (`credentialless`), in browsers that support it. It does not
 * get one behind a proxy, which may use a cookie to let readers in. Without a proxy the protocol is plain HTTP.
 */
function sandboxAttributes(replayOrigin: string) {
  const isShared = location.protocol === 'http:' && new URL(replayOrigin).hostname === location.hostname;
  return { sandbox: SANDBOX, ...(isShared && { credentialless: true }) };
}

/**
 * The address for the frame. On a private server the replay origin first gets a cookie of its own, for a ticket, since
 * neither the token nor the cookie of this page is sent there. Undefined until there is a ticket.
 */
function useSource(replayOrigin: string, source: string): string | undefined {
  const session = useSession();
  const needsTicket = session?.isPrivate === true && session.signIn?.kind !== 'proxy';
  const [entry, setEntry] = useState<{ source: string; address: string } | undefined>(undefined);
  useEffect(() => {
    if (!needsTicket) return;
    let isCurrent = true;
    const show = (address: string) => isCurrent && setEntry({ source, address });
    const to = encodeURIComponent(source.slice(replayOrigin.length));
    post<ReplayTicket>(apiPath('session/replay'), {}).then(
      ({ path }) => show(path === undefined ? source : `${replayOrigin}${path}&to=${to}`),
      // The frame then says that it needs a sign-in.
      () => show(source),
    );
    return () => {
      isCurrent = false;
    };
  }, [needsTicket, replayOrigin, source]);
  if (!session) return undefined;
  if (!needsTicket) return source;
  return entry?.source === source ? entry.address : undefined;
}

export function ReplayFrame({ replayOrigin, timestamp, url, title, name, onMessage }: ReplayFrameProperties) {
  const frame = useRef<HTMLIFrameElement>(null);
  const source = replayAddress(replayOrigin, timestamp, url);
  const address = useSource(replayOrigin, source);
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
      // A title must not replace the message with the address that it belongs to.
      waiting = message.kind === 'title' && waiting ? { ...waiting, title: message.title } : message;
      timer ??= setTimeout(deliver, PAUSE_MS);
    };
    addEventListener('message', receive);
    return () => {
      removeEventListener('message', receive);
      clearTimeout(timer);
    };
    // Messages of a page are dropped when another page is shown.
  }, [replayOrigin, source]);
  // A new element for every address, because changing the address of the old one would add a step to the history.
  if (address === undefined) return null;
  return (
    <iframe
      key={source}
      name={name}
      ref={frame}
      class="replay"
      title={title}
      {...sandboxAttributes(replayOrigin)}
      src={address}
    />
  );
}
