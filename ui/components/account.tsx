/** Who is signed in, with the role and a way out; or the way to the sign-in. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api/replies.ts';
import { signOut, startSignIn, useSession } from '../api/session.ts';

export function Account() {
  const session = useSession();
  if (!session) return null;
  if (session.kind === 'person') return <Person session={session} />;
  if (session.kind !== 'anonymous' || session.signIn?.kind !== 'oidc') return null;
  return (
    <button type="button" class="account-sign-in" onClick={startSignIn}>
      Sign in
    </button>
  );
}

function Person({ session }: { session: Session }) {
  const { name = '', role, signIn } = session;
  const menu = useRef<HTMLDetailsElement>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const close = (event: Event) => {
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      const isOutside = event.type === 'click' && !menu.current?.contains(event.target as Node);
      if (menu.current && (isEscape || isOutside)) menu.current.open = false;
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  const canLeave = signIn?.kind === 'oidc' || signIn?.signOutUrl !== undefined;
  return (
    <details class="account" ref={menu}>
      <summary aria-label={`Signed in as ${name}, ${role}`}>
        <span class="account-mark" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
        <span class="account-name">{name}</span>
      </summary>
      <div class="account-menu">
        <p class="account-who">{name}</p>
        <p class="muted">{role}</p>
        {canLeave ? (
          <button type="button" onClick={() => signOut(session).catch(() => setFailed(true))}>
            Sign out
          </button>
        ) : (
          <p class="muted">The proxy in front of this archive signs you in and out.</p>
        )}
        {hasFailed && <p role="alert">The server does not answer. You are still signed in.</p>}
      </div>
    </details>
  );
}
