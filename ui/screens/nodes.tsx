/** Storage: the disks and servers that hold the archive, and what each does at present. */
import { useEffect } from 'preact/hooks';
import type { Node, NodeState, Nodes } from '../api/replies.ts';
import { useReply } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatBytes, formatClock, formatPercent, formatTime } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { FaultNotice, Note, Waiting, withCode } from '../components/notice.tsx';

const REFRESH_MS = 3000;

const MEANINGS: Readonly<Record<NodeState, string>> = {
  idle: 'ready, with nothing to do',
  storing: 'records are being written to it',
  streaming: 'many records are being read from it; new ones go elsewhere where possible',
  rebalancing: 'records are being moved from or to it',
  'read-only': 'it is read, and never written to',
  missing: 'it does not answer; what it holds cannot be read until it is back',
};

export function NodesScreen() {
  useTitle('Storage');
  return (
    <>
      <h1>Storage</h1>
      <p class="lead">The disks and servers that hold the WARC files of the archive, and what each does now.</p>
      <AccessGate why="Seeing the storage" right="admin">
        <Storage />
      </AccessGate>
    </>
  );
}

function Storage() {
  const { reply, error, isLoading, reload } = useReply<Nodes>('/api/nodes');
  useEffect(() => {
    // Begins when the last answer has arrived, so that a slow server is not asked again meanwhile.
    const timer = setTimeout(reload, REFRESH_MS);
    return () => clearTimeout(timer);
  }, [reply, error, reload]);
  if (error) return <FaultNotice error={error} onRetry={reload} />;
  if (!reply) return isLoading ? <Waiting what="Asking the disks and servers" /> : null;
  const { nodes, time } = reply;
  const missing = nodes.filter(({ state }) => state === 'missing');
  return (
    <>
      {missing.map(({ name, failure }) => (
        <Note key={name} title={`${name} is missing.`} isBad>
          <p>{failure?.message}</p>
          <p>{withCode(failure?.advice ?? '')}</p>
        </Note>
      ))}
      <NodeTable nodes={nodes} />
      <p class="muted node-time">As of {formatClock(time)} UTC; updated every few seconds.</p>
      {nodes.every(({ writable }) => !writable) && (
        <Note title="Nothing can be stored at present.">
          <p>{withCode('No disk or server takes new records. `pinakes volume add` adds one.')}</p>
        </Note>
      )}
      {nodes.length === 1 && nodes[0]!.kind === 'directory' && (
        <p class="muted">
          The whole archive is on one disk. {withCode('`pinakes volume add` adds another disk or a server.')}
        </p>
      )}
      <details>
        <summary>What the words mean</summary>
        <dl class="facts">
          {Object.entries(MEANINGS).map(([state, means]) => (
            <div key={state}>
              <dt>{state}</dt>
              <dd>{means}</dd>
            </div>
          ))}
          <div>
            <dt>deleted</dt>
            <dd>
              bytes of deleted captures that are still in the files; <a href={pathTo.jobs('compact')}>compacting</a>{' '}
              frees them
            </dd>
          </div>
        </dl>
      </details>
    </>
  );
}

const COLUMNS = ['State', 'Free', 'Stored', 'Deleted', 'Under way', 'Last minute'] as const;

function NodeTable({ nodes }: { nodes: readonly Node[] }) {
  return (
    <table class="stacking nodes">
      <caption class="unseen">Disks and servers of the archive</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          {COLUMNS.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <NodeRow key={node.name} node={node} />
        ))}
      </tbody>
    </table>
  );
}

function NodeRow({ node }: { node: Node }) {
  const { name, path, endpoint, state, bytes, deadBytes, segments, lastMinute } = node;
  const failed = lastErrorOf(node);
  return (
    <>
      <tr>
        <th scope="row">
          {name}
          <span class="node-place">{endpoint === undefined ? path : `${path} at ${endpoint}`}</span>
        </th>
        <td data-label="State" class={`node-state ${state}`}>
          {state}
        </td>
        <td data-label="Free">
          <Room node={node} />
        </td>
        <td data-label="Stored">
          {formatBytes(bytes)} <span class="muted">in {counted(segments, 'file')}</span>
        </td>
        <td data-label="Deleted">
          {formatBytes(deadBytes)} {deadBytes > 0 && <span class="muted">({formatPercent(deadBytes, bytes)})</span>}
        </td>
        <td data-label="Under way">{underWay(node)}</td>
        <td data-label="Last minute">
          {counted(lastMinute.requests, 'request')}
          <span class="muted">
            , {formatBytes(lastMinute.readBytes)} read, {formatBytes(lastMinute.writtenBytes)} written
          </span>
        </td>
      </tr>
      {failed && (
        <tr class="node-error">
          <td colSpan={COLUMNS.length + 1}>
            <span class="muted">
              Last error of {name}
              {failed.time && `, ${formatTime(failed.time)}`}:
            </span>{' '}
            {failed.message}
          </td>
        </tr>
      )}
    </>
  );
}

function Room({ node: { kind, freeBytes, totalBytes } }: { node: Node }) {
  if (kind === 'linked') return <span class="muted">not written to</span>;
  if (freeBytes === undefined || totalBytes === undefined) return <span class="muted">not known</span>;
  return (
    <>
      {formatBytes(freeBytes)} <span class="muted">of {formatBytes(totalBytes)}</span>
    </>
  );
}

function underWay({ pending }: Node): string {
  const parts = Object.entries(pending).flatMap(([kind, count]) => (count > 0 ? [counted(count, kind)] : []));
  return parts.join(', ') || 'nothing';
}

/** Failures that a later try of the same request made good are known of buckets only, and without their time. */
function lastErrorOf({ failure, lastError, bucket }: Node): { message: string; time?: string } | undefined {
  if (failure) return undefined;
  if (lastError) return lastError;
  return bucket?.lastError === undefined ? undefined : { message: bucket.lastError };
}
