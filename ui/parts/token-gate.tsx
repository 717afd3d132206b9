/** Shows what changes the archive only to who has the server's token, and asks for it otherwise. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { currentToken, keepToken, onTokenChange } from '../api/token.ts';

export function useHasToken(): boolean {
  const [hasToken, setHasToken] = useState(() => currentToken() !== undefined);
  useEffect(() => onTokenChange(() => setHasToken(currentToken() !== undefined)), []);
  return hasToken;
}

export function TokenGate({ why, children }: { why: string; children: ComponentChildren }) {
  return useHasToken() ? children : <TokenForm why={why} />;
}

function TokenForm({ why }: { why: string }) {
  const id = useId();
  const [typed, setTyped] = useState('');
  return (
    <form
      class="notice token-form"
      onSubmit={(event) => {
        event.preventDefault();
        const token = tokenOf(typed);
        if (token !== '') keepToken(token);
      }}
    >
      <div>
        <p class="notice-title">{why} needs the server's token.</p>
        <p id={`${id}-help`}>
          <code>pinakes serve</code> prints a link with it when it starts. Open that link, or paste it here. It is kept
          until this tab is closed.
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

/** The whole link may have been pasted. */
function tokenOf(typed: string): string {
  const text = typed.trim();
  const at = text.indexOf('#token=');
  return at < 0 ? text : decodeURIComponent(text.slice(at + '#token='.length));
}
