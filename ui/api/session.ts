/**
 * Who uses this page, and what they may do. It is asked for once, and again when the token changes or a request was
 * refused because nobody is signed in any more.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, get, post, UNREACHABLE } from './client.ts';
import type { Right, Session } from './replies.ts';
import { SIGNED_OUT_EVENT } from './signed-out.ts';
import { onTokenChange } from './token.ts';

const KNOWN = 'pinakes-session';
const HAS_LEFT = 'pinakes.signed-out';

export type SessionState = { readonly session?: Session; readonly error?: ApiError };

let state: SessionState = {};
let isAsking = false;
/** The token has changed since the server was asked. */
let isOutdated = false;
let isStarted = false;

function ask(): void {
  isOutdated = isAsking;
  if (isAsking) return;
  isAsking = true;
  get<Session>('/api/session')
    .then(
      (session) => {
        state = { session };
      },
      (error: unknown) => {
        state = { error: error instanceof ApiError ? error : new ApiError(0, UNREACHABLE) };
      },
    )
    .finally(() => {
      isAsking = false;
      // What the server said of another token does not count.
      if (isOutdated) ask();
      else dispatchEvent(new Event(KNOWN));
    });
}

export function useSessionState(): SessionState {
  const [shown, setShown] = useState(state);
  useEffect(() => {
    if (!isStarted) {
      isStarted = true;
      onTokenChange(ask);
      addEventListener(SIGNED_OUT_EVENT, ask);
      ask();
    }
    const update = () => setShown(state);
    update();
    addEventListener(KNOWN, update);
    return () => removeEventListener(KNOWN, update);
  }, []);
  return shown;
}

/** Undefined until the server has answered. */
export function useSession(): Session | undefined {
  return useSessionState().session;
}

/** Whether the reader has a right. Undefined until the server has answered. */
export function useMay(right: Right): boolean | undefined {
  return useSession()?.rights.includes(right);
}

/** The address that leads to the sign-in and back to this page. */
export function signInPath(): string {
  return `/auth/sign-in?${new URLSearchParams({ to: location.pathname + location.search })}`;
}

/** True after the reader has signed out in this tab: then nobody is sent to the sign-in without asking. */
export function hasLeft(): boolean {
  try {
    return sessionStorage.getItem(HAS_LEFT) !== null;
  } catch {
    return true;
  }
}

export async function signOut(session: Session): Promise<void> {
  try {
    sessionStorage.setItem(HAS_LEFT, '1');
  } catch {
    // Without storage, hasLeft() is always true.
  }
  const { signOutUrl } = session.signIn ?? {};
  const to = signOutUrl ?? (await post<{ to: string | null }>('/auth/sign-out', {})).to;
  location.assign(to ?? '/');
}

export function startSignIn(): void {
  try {
    sessionStorage.removeItem(HAS_LEFT);
  } catch {
    // Nothing was kept.
  }
  location.assign(signInPath());
}
