/** Finds words or a phrase in all captures of one page: the first and last capture with it, and the times between. */
import { useId, useState } from 'preact/hooks';
import { apiPath } from '../../api/client.ts';
import type { Appearances } from '../../api/replies.ts';
import { useReply } from '../../api/request.ts';
import { pathTo } from '../../app/route.ts';
import { counted, formatCount, formatSpan, formatTime } from '../../app/wording.ts';
import { Waiting } from '../notice.tsx';
import { QueryFault } from './query-fault.tsx';

const SPANS_SHOWN = 50;

export function FindInVersions({ url }: { url: string }) {
  const id = useId();
  const [typed, setTyped] = useState('');
  const [query, setQuery] = useState('');
  const path = query === '' ? undefined : apiPath('appearances', { url, q: query });
  const { reply, error, isLoading, reload } = useReply<Appearances>(path);
  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Find in the versions of this page</h2>
      <form
        class="find-form"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery(typed.trim());
        }}
      >
        <label class="unseen" for={`${id}-box`}>
          Words or a "phrase"
        </label>
        <input
          id={`${id}-box`}
          type="text"
          placeholder={'words, or a "phrase"'}
          autocomplete="off"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit">Find</button>
      </form>
      <div aria-live="polite">
        {isLoading && <Waiting what="Searching the versions" />}
        {error && <QueryFault error={error} query={query} onRetry={reload} />}
        {reply && <Found url={url} query={query} found={reply} />}
      </div>
    </section>
  );
}

function Found({ url, query, found }: { url: string; query: string; found: Appearances }) {
  const { captures, found: matching, first, last, spans } = found;
  if (captures === 0) return <p>The index has no version of this page. It contains only pages with text.</p>;
  if (first === undefined || last === undefined) {
    return (
      <p>
        <q>{query}</q> is in none of {counted(captures, 'capture')}.
      </p>
    );
  }
  const shown = spans.slice(0, SPANS_SHOWN);
  return (
    <>
      <p>
        In {formatCount(matching)} of {counted(captures, 'capture')}: first on{' '}
        <a href={pathTo.frame(digitsOf(first), url)}>{formatTime(first)}</a>, last on{' '}
        <a href={pathTo.frame(digitsOf(last), url)}>{formatTime(last)}</a>.
      </p>
      {spans.length > 1 && (
        <>
          <p class="muted">It disappeared and came back. It was on the page at these times:</p>
          <ol class="spans">
            {shown.map(({ from, to, captures: within }) => (
              <li key={from}>
                <a href={pathTo.frame(digitsOf(from), url)}>{formatSpan(from, to)}</a>{' '}
                <span class="muted">{counted(within, 'capture')}</span>
              </li>
            ))}
          </ol>
          {(shown.length < spans.length || !found.spansAreAll) && (
            <p class="muted">There are more times after these.</p>
          )}
        </>
      )}
    </>
  );
}

/** A W3C date as 14 digits. */
function digitsOf(time: string): string {
  return time.replace(/\D/g, '').slice(0, 14);
}
