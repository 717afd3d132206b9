/** Hooks that fetch replies and lists for screens, with their loading and error states. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isReturning } from '../app/navigation.ts';
import { ApiError, get } from './client.ts';
import type { Info } from './replies.ts';
import { useToken } from './use-token.ts';

/** A page of a list; `next` is where the next page begins. */
export type List<Item> = { readonly items: readonly Item[]; readonly next?: string };

export type Loaded<Reply> = {
  readonly reply: Reply | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  reload(): void;
};

type Answer<Reply> = { path?: string | undefined; reply?: Reply; error?: ApiError };

/**
 * The replies that screens showed, by kind and path. When the reader goes back, the screen first shows the cached
 * reply, at the place where it was left. Then the reply is fetched again.
 */
const cache = new Map<string, object>();
const CACHED_MAX = 20;

function remember(kind: 'list' | 'reply', path: string, state: object): void {
  const key = `${kind} ${path}`;
  cache.delete(key);
  cache.set(key, state);
  if (cache.size > CACHED_MAX) cache.delete(cache.keys().next().value!);
}

function cached<State>(kind: 'list' | 'reply', path: string | undefined): State | undefined {
  return isReturning() ? (cache.get(`${kind} ${path}`) as State | undefined) : undefined;
}

/**
 * Fetches a path, and again when the path or the token changes. Fetches nothing if the path is undefined. The last
 * reply stays until the next reply of the same path arrives.
 */
export function useReply<Reply>(path: string | undefined): Loaded<Reply> {
  const [state, setState] = useState(() => cached<Answer<Reply>>('reply', path) ?? {});
  const [round, setRound] = useState(0);
  const token = useToken();
  useEffect(() => {
    if (path === undefined) return;
    const controller = new AbortController();
    get<Reply>(path, controller.signal).then(
      (reply) => {
        remember('reply', path, { path, reply });
        setState({ path, reply });
      },
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
  /** The reply with the first page, which has more than the items. */
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

/** Fetches a list page by page. */
export function useList<Item, Reply extends List<Item> = List<Item>>(
  path: string | undefined,
): LoadedList<Item, Reply> {
  const [pages, setPages] = useState(() => cached<Pages<Item, Reply>>('list', path) ?? { items: [] });
  const returnedTo = useRef(pages);
  const [isLoading, setIsLoading] = useState(false);
  const controller = useRef<AbortController | undefined>(undefined);

  /** Fetches one more page, or pages until there are at least `itemsLeast` items. */
  const load = useCallback(
    (before: Pages<Item, Reply>, itemsLeast = 0) => {
      if (path === undefined) return;
      controller.current?.abort();
      const mine = new AbortController();
      controller.current = mine;
      setIsLoading(true);
      fetchPages(path, before, itemsLeast, mine.signal)
        .then(
          (now) => {
            remember('list', path, now);
            setPages(now);
          },
          (error: unknown) => {
            if (!mine.signal.aborted) setPages({ ...before, path, error: asApiError(error) });
          },
        )
        .finally(() => {
          if (controller.current === mine) setIsLoading(false);
        });
    },
    [path],
  );
  useEffect(() => {
    load({ items: [] }, returnedTo.current.path === path ? returnedTo.current.items.length : 0);
    return () => controller.current?.abort();
  }, [load, path]);

  const isCurrent = pages.path === path;
  return {
    items: isCurrent ? pages.items : [],
    first: isCurrent ? pages.first : undefined,
    error: isCurrent ? pages.error : undefined,
    isLoading: isLoading || (path !== undefined && !isCurrent),
    hasMore: isCurrent && pages.next !== undefined && pages.error === undefined,
    more: () => load(pages),
  };
}

async function fetchPages<Item, Reply extends List<Item>>(
  path: string,
  before: Pages<Item, Reply>,
  itemsLeast: number,
  signal: AbortSignal,
): Promise<Pages<Item, Reply>> {
  let { items, next, first } = before;
  do {
    const after = next === undefined ? '' : `${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(next)}`;
    const reply = await get<Reply>(path + after, signal);
    items = [...items, ...reply.items];
    next = reply.next;
    first ??= reply;
  } while (next !== undefined && items.length < itemsLeast);
  return { path, items, next, first };
}

let info: Promise<Info> | undefined;

/** The name and capabilities of the server. They are fetched once. */
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
