/** Shows its children only if the reader has the token of the server. Otherwise it asks for the token. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { keepToken, wasRefused } from '../api/token.ts';
import { tokenInLink } from '../api/token-link.ts';
import { useToken } from '../api/use-token.ts';
import { withCode } from './notice.tsx';

export function useHasToken(): boolean {
  return useToken() !== undefined;
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
