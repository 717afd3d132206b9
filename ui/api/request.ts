/** What screens are made of: a reply that is being fetched, has come, or failed; and the lists that come page by page. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get } from './client.ts';
import type { Info, List } from './replies.ts';

export type Loaded<Reply> = {
  readonly reply: Reply | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  reload(): void;
};

/** Fetches a path, again whenever it changes; undefined fetches nothing. The last reply stays while the next one of the same path comes. */
export function useReply<Reply>(path: string | undefined): Loaded<Reply> {
  const [state, setState] = useState<{ path?: string | undefined; reply?: Reply; error?: ApiError }>({});
  const [round, setRound] = useState(0);
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
  }, [path, round]);
  const isCurrent = state.path === path;
  return {
    reply: isCurrent ? state.reply : undefined,
    error: isCurrent ? state.error : undefined,
    isLoading: path !== undefined && (!isCurrent || (state.reply === undefined && state.error === undefined)),
    reload: useCallback(() => setRound((before) => before + 1), []),
  };
}

export type LoadedList<Item> = {
  readonly items: readonly Item[];
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  more(): void;
};

/** A list whose pages are fetched when asked for. */
export function useList<Item>(path: string | undefined): LoadedList<Item> {
  type Pages = { path?: string | undefined; items: readonly Item[]; next?: string | undefined; error?: ApiError };
  const [pages, setPages] = useState<Pages>({ items: [] });
  const [isLoading, setIsLoading] = useState(false);
  const controller = useRef<AbortController | undefined>(undefined);

  const load = useCallback(
    (before: readonly Item[], after: string | undefined) => {
      if (path === undefined) return;
      controller.current?.abort();
      const mine = new AbortController();
      controller.current = mine;
      setIsLoading(true);
      const from =
        after === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(after)}`;
      get<List<Item>>(from, mine.signal)
        .then(
          ({ items, next }) => setPages({ path, items: [...before, ...items], next }),
          (error: unknown) => {
            if (!mine.signal.aborted) setPages({ path, items: before, error: asApiError(error) });
          },
        )
        .finally(() => {
          if (controller.current === mine) setIsLoading(false);
        });
    },
    [path],
  );
  useEffect(() => {
    load([], undefined);
    return () => controller.current?.abort();
  }, [load]);

  const isCurrent = pages.path === path;
  return {
    items: isCurrent ? pages.items : [],
    error: isCurrent ? pages.error : undefined,
    isLoading: isLoading || (path !== undefined && !isCurrent),
    hasMore: isCurrent && pages.next !== undefined,
    more: () => load(pages.items, pages.next),
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
