/** The current token, as a hook: components are rendered again when it changes. */
import { useEffect, useState } from 'preact/hooks';
import { currentToken, onTokenChange } from './token.ts';

export function useToken(): string | undefined {
  const [token, setToken] = useState(currentToken);
  useEffect(() => onTokenChange(() => setToken(currentToken())), []);
  return token;
}
