/**
 * Shows its children only to readers with a right. To others it says what is missing: a sign-in, another role, or the
 * token of the server.
 */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Right, Session } from '../api/replies.ts';
import { startSignIn, useSessionState } from '../api/session.ts';
import { keepToken, wasRefused } from '../api/token.ts';
import { tokenInLink } from '../api/token-link.ts';
import { FaultNotice, Note, withCode } from './notice.tsx';

type GateProperties = {
  /** What needs the right, at the beginning of a sentence: `Deleting`. */
  readonly why: string;
  readonly right: Right;
  readonly children: ComponentChildren;
};

export function AccessGate({ why, right, children }: GateProperties) {
  const { session, error } = useSessionState();
  if (error) return <FaultNotice error={error} />;
  if (!session) return null;
  return session.rights.includes(right) ? children : <WayIn why={why} right={right} session={session} />;
}

const ROLE_FOR: Readonly<Record<Right, string>> = {
  read: 'a reader',
  add: 'a curator',
  crawl: 'a curator',
  delete: 'a curator',
  admin: 'an administrator',
};

type WayProperties = { readonly why: string; readonly right: Right; readonly session: Session };

export function WayIn({ why, right, session }: WayProperties) {
  const { kind, name, role, signIn } = session;
  if (kind === 'person')
    return (
      <Note title={`${why} is for ${ROLE_FOR[right].replace(/^an? /, '')}s.`}>
        <p>
          You are signed in as {name}, who is {role === 'administrator' ? 'an' : 'a'} {role}. The operator of the
          archive can make you {ROLE_FOR[right]}.
        </p>
      </Note>
    );
  if (kind === 'token')
    return (
      <Note title={`${why} needs the right ${right}.`}>
        <p>
          You use the token {name}, which does not have it. {withCode('`pinakes token add` makes one with this right.')}
        </p>
      </Note>
    );
  if (!signIn) return <TokenForm why={why} />;
  return (
    <>
      <div class="notice">
        <div>
          <p class="notice-title">{why} needs a sign-in.</p>
          <p>
            {signIn.kind === 'oidc'
              ? `You sign in at ${signIn.provider ?? 'your provider'}, and return to this page.`
              : 'The proxy in front of this archive signs people in. It did not name you.'}
          </p>
          {signIn.kind === 'oidc' && (
            <button type="button" class="primary" onClick={startSignIn}>
              Sign in
            </button>
          )}
        </div>
      </div>
      <details class="token-way">
        <summary>Use a token instead</summary>
        <TokenForm why={why} />
      </details>
    </>
  );
}

function TokenForm({ why }: { why: string }) {
  const id = useId();
  const [typed, setTyped] = useState('');
  return (
    <form
      class="notice token-form"
      onSubmit={(event) => {
        event.preventDefault();
        const text = typed.trim();
        // The reader may have pasted the whole link.
        const token = tokenInLink(text) ?? text;
        if (token !== '') keepToken(token);
      }}
    >
      <div>
        <p class="notice-title">{why} needs the token of the server.</p>
        {wasRefused() && <p>The server refused this token. A server may have a new token after a restart.</p>}
        <p id={`${id}-help`}>
          {withCode('`pinakes serve` prints a link with the token when it starts.')} Open that link, or paste it here.
          This browser tab keeps the token until you close the tab.
        </p>
        <div class="field-row">
          <label for={id} class="unseen">
            Token
          </label>
          <input
            id={id}
            type="password"
            autocomplete="off"
            placeholder="Token"
            aria-describedby={`${id}-help`}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <button type="submit" class="primary">
            Use this token
          </button>
        </div>
      </div>
    </form>
  );
}
