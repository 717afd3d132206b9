/** What screens are made of: a reply that is being fetched, has come, or failed; and the lists that come page by page. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isReturning } from '../navigation.ts';
import { ApiError, get } from './client.ts';
import { useToken } from './held-token.ts';
import type { Info, List } from './replies.ts';

export type Loaded<Reply> = {
  readonly reply: Reply | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  reload(): void;
};

/** Fetches a path, again whenever it or the token changes; undefined fetches nothing. The last reply stays while the next one of the same path comes. */
export function useReply<Reply>(path: string | undefined): Loaded<Reply> {
  const [state, setState] = useState<{ path?: string | undefined; reply?: Reply; error?: ApiError }>({});
  const [round, setRound] = useState(0);
  const token = useToken();
  useEffect(() => {
    if (path === undefined) return;
    const controller = new AbortController();
    get<Reply>(path, controller.signal).then(
      (reply) => setState({ path, reply }),
      (error: unknown) => {
        if (!controller.signal.aborted) setState({ path, error: asApiError(error) });
      },
    );
    return () => controller.abort();
  }, [path, round, token]);
  const isCurrent = state.path === path;
  return {
    reply: isCurrent ? state.reply : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: path !== undefined && (!isCurrent || (state.reply === undefined && state.error === undefined)),
    reload: useCallback(() => setRound((before) => before + 1), []),
  };
}

export type LoadedList<Item, Reply = List<Item>> = {
  readonly items: readonly Item[];
  /** The first page as it came, with what it has besides the items. */
  readonly first: Reply | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  more(): void;
};

type Pages<Item, Reply> = {
  path?: string | undefined;
  items: readonly Item[];
  next?: string | undefined;
  first?: Reply | undefined;
  error?: ApiError;
};

/** Lists as they were left, by their paths: who goes back to one finds all that was fetched of it, and so the place at which it was left. */
const left = new Map<string, Pages<unknown, unknown>>();
const LEFT_MOST = 10;

function leave(path: string, pages: Pages<unknown, unknown>): void {
  left.delete(path);
  left.set(path, pages);
  if (left.size > LEFT_MOST) left.delete(left.keys().next().value!);
}

/** A list whose pages are fetched when asked for. */
export function useList<Item, Reply extends List<Item> = List<Item>>(
  path: string | undefined,
): LoadedList<Item, Reply> {
  const [pages, setPages] = useState(
    () => ((isReturning() && left.get(path ?? '')) || { items: [] }) as Pages<Item, Reply>,
  );
  const returnedTo = useRef(pages.path);
  const [isLoading, setIsLoading] = useState(false);
  const controller = useRef<AbortController | undefined>(undefined);

  const load = useCallback(
    (before: readonly Item[], after: string | undefined, first?: Reply) => {
      if (path === undefined) return;
      controller.current?.abort();
      const mine = new AbortController();
      controller.current = mine;
      setIsLoading(true);
      const from =
        after === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(after)}`;
      get<Reply>(from, mine.signal)
        .then(
          (reply) => {
            const now = { path, items: [...before, ...reply.items], next: reply.next, first: first ?? reply };
            leave(path, now);
            setPages(now);
          },
          (error: unknown) => {
            if (!mine.signal.aborted) setPages({ path, items: before, next: after, first, error: asApiError(error) });
          },
        )
        .finally(() => {
          if (controller.current === mine) setIsLoading(false);
        });
    },
    [path],
  );
  useEffect(() => {
    if (returnedTo.current === undefined || returnedTo.current !== path) load([], undefined);
    returnedTo.current = undefined;
    return () => controller.current?.abort();
  }, [load, path]);

  const isCurrent = pages.path === path;
  return {
    items: isCurrent ? pages.items : [],
    first: isCurrent ? pages.first : undefined,
    error: isCurrent ? pages.error : undefined,
    isLoading: isLoading || (path !== undefined && !isCurrent),
    hasMore: isCurrent && pages.next !== undefined && pages.error === undefined,
    more: () => load(pages.items, pages.next, pages.first),
  };
}

let info: Promise<Info> | undefined;

/** What the server is and can do. Asked once. */
export function useInfo(): Info | undefined {
  const [known, setKnown] = useState<Info | undefined>(undefined);
  useEffect(() => {
    info ??= get<Info>('/api/info');
    info.then(setKnown, () => {
      info = undefined;
    });
  }, []);
  return known;
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(0, { code: 'UNEXPECTED', message: error instanceof Error ? error.message : String(error) });
}
