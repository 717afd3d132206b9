/** Takedowns: what was withdrawn, by whom and why; whether bytes are left; the receipt to print. */
import { useState } from 'preact/hooks';
import { type ApiError, apiPath, getText, post } from '../api/client.ts';
import type { Job, TakedownEntry, TakedownLog } from '../api/replies.ts';
import { asApiError, useReply } from '../api/request.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatDay } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';

export function TakedownsScreen() {
  useTitle('Takedowns');
  return (
    <>
      <h1>Takedowns</h1>
      <p class="lead">
        What was taken down from the archive for good. To take something down, use{' '}
        <code>pinakes takedown --reason</code>.
      </p>
      <AccessGate why="Seeing takedowns" right="admin">
        <Log />
      </AccessGate>
    </>
  );
}

function Log() {
  const { reply, error, isLoading } = useReply<TakedownLog>('/api/takedowns/log');
  const [failed, setFailed] = useState<ApiError | undefined>(undefined);
  if (error) return <FaultNotice error={error} />;
  if (!reply) return isLoading ? <Waiting what="Fetching takedowns" /> : null;
  const check = async (takedown?: number) => {
    try {
      const job = await post<Job>(apiPath('takedowns/check'), takedown === undefined ? {} : { takedown });
      navigate(pathTo.job(job.id));
    } catch (failure) {
      setFailed(asApiError(failure));
    }
  };
  return (
    <>
      {failed && <FaultNotice error={failed} />}
      {reply.problems.length > 0 && (
        <Note title="The log of takedowns was changed, or is not complete.">
          <ul>
            {reply.problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </Note>
      )}
      {reply.takedowns.length === 0 ? (
        <p class="muted">Nothing was taken down.</p>
      ) : (
        <p>
          <button type="button" onClick={() => check()}>
            Search every file for all of them
          </button>
        </p>
      )}
      {reply.takedowns.toReversed().map((takedown) => (
        <Entry key={takedown.id} takedown={takedown} onCheck={() => check(takedown.id)} onFailure={setFailed} />
      ))}
    </>
  );
}

type EntryProps = {
  readonly takedown: TakedownEntry;
  readonly onCheck: () => void;
  readonly onFailure: (error: ApiError) => void;
};

function Entry({ takedown, onCheck, onFailure }: EntryProps) {
  const { id, time, by, reason, contents, urls, captures, isDone, problem, digest } = takedown;
  const barred = [
    contents.length > 0 ? counted(contents.length, 'content') : '',
    urls.length > 0 ? counted(urls.length, 'address', 'addresses') : '',
  ];
  return (
    <section class="takedown" aria-labelledby={`takedown-${id}`}>
      <h2 id={`takedown-${id}`}>
        No. {id}, <time dateTime={time}>{formatDay(time)}</time>
      </h2>
      <p class="takedown-reason">{reason}</p>
      <dl class="facts">
        <div>
          <dt>Decided by</dt>
          <dd>{by}</dd>
        </div>
        <div>
          <dt>Barred</dt>
          <dd>{barred.filter((text) => text !== '').join(' and ')}</dd>
        </div>
        <div>
          <dt>Deleted</dt>
          <dd>
            {counted(captures, 'capture')}
            {!isDone && '; it was interrupted, and can be asked for again'}
          </dd>
        </div>
        <div>
          <dt>Bytes</dt>
          <dd>{stateOf(takedown)}</dd>
        </div>
        <div>
          <dt>Entry</dt>
          <dd>
            <code class="digest">{digest}</code>
            {problem !== null && ` ${problem}`}
          </dd>
        </div>
      </dl>
      <p class="takedown-actions">
        <button type="button" onClick={onCheck}>
          Search for its bytes
        </button>
        <button type="button" onClick={() => saveReceipt(id).catch((failure) => onFailure(asApiError(failure)))}>
          Save the receipt
        </button>
      </p>
    </section>
  );
}

function stateOf({ search }: TakedownEntry): string {
  if (!search) return 'Not searched for since.';
  const day = formatDay(search.time);
  if (search.isGone) return `None are left: every file was searched on ${day}.`;
  const found = `${counted(search.found, 'trace')} found`;
  const unsearched = search.unsearched > 0 ? `, ${counted(search.unsearched, 'place')} not searched` : '';
  return `Not gone on ${day}: ${found}${unsearched}. Run a compaction, then search again.`;
}

/** The token cannot be in a link, so the page is fetched and then saved. */
async function saveReceipt(id: number): Promise<void> {
  const page = await getText(apiPath(`takedowns/${id}/receipt`));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([page], { type: 'text/html' }));
  link.download = `takedown-${id}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
}
