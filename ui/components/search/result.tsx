/** One result: title, address, date, snippet, and the other versions of the page. */
import { useState } from 'preact/hooks';
import { apiPath } from '../../api/client.ts';
import type { SearchPage, SearchResult } from '../../api/replies.ts';
import { useReply } from '../../api/request.ts';
import { pathTo, type SearchInput } from '../../app/route.ts';
import {
  counted,
  formatClock,
  formatShortDay,
  formatSpan,
  kindOfContent,
  shortened,
  shownUrl,
} from '../../app/wording.ts';
import { FaultNotice, Waiting } from '../notice.tsx';
import { markedParts, queryWithin } from './sent-query.ts';

const VERSIONS_SHOWN = 20;
/** The number of characters shown of a title, and of an address. */
const TITLE_LENGTH_MAX = 160;
const ADDRESS_LENGTH_MAX = 140;

export function ResultItem({ result, input }: { result: SearchResult; input: SearchInput }) {
  const { url, title, time, timestamp, mime, status, versions, captures, first, last, inlinks } = result;
  const kind = kindOfContent(mime);
  return (
    <li class="result">
      <h3>
        <a href={pathTo.frame(timestamp, url)}>
          <bdi dir={title.trim() === '' ? 'ltr' : 'auto'}>
            {shortened(title.trim() || shownUrl(url), TITLE_LENGTH_MAX)}
          </bdi>
        </a>
      </h3>
      <p class="result-place">
        <bdi dir="ltr" class="result-url">
          {shortened(shownUrl(url), ADDRESS_LENGTH_MAX)}
        </bdi>{' '}
        <time dateTime={time} class="result-time">
          {formatShortDay(time)}
        </time>
        {kind !== 'HTML' && <span class="result-kind">{kind}</span>}
        {status >= 400 && <span class="status bad">{status}</span>}
      </p>
      <MarkedText text={result.snippet} marks={result.marks} />
      <p class="result-facts">
        <a href={pathTo.captures(url)}>
          {counted(captures, 'capture')}, {formatSpan(first, last)}
        </a>
        <a href={pathTo.links(url)}>{inlinks === 0 ? 'Links' : `Links from ${counted(inlinks, 'page')}`}</a>
      </p>
      {versions > 1 && <Versions url={url} count={versions} input={input} />}
    </li>
  );
}

function MarkedText({ text, marks }: { text: string; marks: SearchResult['marks'] }) {
  if (text === '') return null;
  return (
    <p class="snippet" dir="auto">
      {markedParts(text, marks).map((part, index) =>
        part.isMarked ? <mark key={index}>{part.text}</mark> : <span key={index}>{part.text}</span>,
      )}
    </p>
  );
}

/** The captures of this page that match the query. They are fetched when the reader opens the list. */
function Versions({ url, count, input }: { url: string; count: number; input: SearchInput }) {
  const [isOpen, setIsOpen] = useState(false);
  const path = apiPath('search', {
    q: queryWithin(input, url),
    group: 'capture',
    sort: 'date',
    limit: VERSIONS_SHOWN,
  });
  const { reply, error, isLoading, reload } = useReply<SearchPage>(isOpen ? path : undefined);
  return (
    <details class="versions" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{counted(count, 'version')} match</summary>
      {isLoading && <Waiting what="Fetching versions" />}
      {error && <FaultNotice error={error} onRetry={reload} />}
      {reply && (
        <ul>
          {reply.items.map((one) => (
            <li key={`${one.timestamp} ${one.collection}`}>
              <a href={pathTo.frame(one.timestamp, one.url)}>
                {formatShortDay(one.time)} <span class="clock">{formatClock(one.time)}</span>
              </a>{' '}
              <span class="muted">{one.collection}</span>
            </li>
          ))}
          {reply.next !== undefined && (
            <li>
              <a href={pathTo.captures(url)}>All captures of this page</a>
            </li>
          )}
        </ul>
      )}
    </details>
  );
}
