/** Shown instead of every screen of a private archive to readers who are not signed in. It leads to the sign-in. */
import { useEffect } from 'preact/hooks';
import type { Session } from '../api/replies.ts';
import { useInfo } from '../api/request.ts';
import { hasLeft, startSignIn } from '../api/session.ts';
import { useTitle } from '../app/navigation.ts';
import { WayIn } from '../components/access-gate.tsx';

/** Long enough to read where one is going. */
const LOOK_MS = 1200;

export function PrivateScreen({ session }: { session: Session }) {
  useTitle('Sign in');
  const info = useInfo();
  const name = info?.name && info.name !== 'archive' ? info.name : 'This archive';
  const goes = session.kind === 'anonymous' && session.signIn?.kind === 'oidc' && !hasLeft();
  useEffect(() => {
    if (!goes) return;
    const timer = setTimeout(startSignIn, LOOK_MS);
    return () => clearTimeout(timer);
  }, [goes]);
  return (
    <section class="private">
      <h1>{name} is private</h1>
      {goes ? (
        <>
          <p class="lead" role="status">
            Taking you to {session.signIn?.provider} to sign in. You return to this page afterwards.
          </p>
          <button type="button" class="primary" onClick={startSignIn}>
            Sign in now
          </button>
        </>
      ) : (
        <>
          <p class="lead">Its pages are shown to people who may see them.</p>
          <WayIn why="Looking" right="read" session={session} />
        </>
      )}
    </section>
  );
}
