/** Shows why a search failed. In a query with a syntax error the place is marked. */
import type { ApiError } from '../../api/client.ts';
import { FaultNotice, withCode } from '../notice.tsx';

type QueryFaultProperties = {
  readonly error: ApiError;
  /** The query as typed, and its offset in the query that was sent. */
  readonly query: string;
  readonly typedAt?: number;
  onRetry(): void;
};

export function QueryFault({ error, query, typedAt = 0, onRetry }: QueryFaultProperties) {
  const at = error.at === undefined ? -1 : error.at - typedAt;
  if (at < 0 || at > query.length) return <FaultNotice error={error} onRetry={onRetry} />;
  const end = Math.min(query.length, at + Math.max(1, error.length));
  return (
    <div class="notice bad" role="alert">
      <div>
        <p class="notice-title">{withCode(error.message)}</p>
        <pre class="fault-query">
          {query.slice(0, at)}
          <mark class="fault-place">{query.slice(at, end) || ' '}</mark>
          {query.slice(end)}
        </pre>
      </div>
    </div>
  );
}
