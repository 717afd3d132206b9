/** The token as screens hold to it: they are drawn anew when it comes and when it goes. */
import { useEffect, useState } from 'preact/hooks';
import { currentToken, onTokenChange } from './token.ts';

export function useToken(): string | undefined {
  const [token, setToken] = useState(currentToken);
  useEffect(() => onTokenChange(() => setToken(currentToken())), []);
  return token;
}
