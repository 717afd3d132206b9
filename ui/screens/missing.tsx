/** Shown for an address that does not belong to a screen. */
import { useEffect } from 'preact/hooks';
import { useSession } from '../api/session.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { SearchBox } from '../components/search/search-box.tsx';

export function MissingScreen({ path }: { path: string }) {
  useTitle('Not found');
  const session = useSession();
  const isBehindSignIn = session?.isPrivate === true && session.rights.includes('read') && path.startsWith('/web/');
  useEffect(() => {
    // Coming from another site, the browser kept the cookie back, and the server showed nothing but this page. A
    // request of our own page has the cookie. The server then answers with a redirection or with an error of its own.
    if (isBehindSignIn) location.replace(location.href);
  }, [isBehindSignIn]);
  return (
    <>
      <h1>This page does not exist</h1>
      <p class="lead">
        This server has no page at <code>{path.length > 200 ? `${path.slice(0, 200)}\u2026` : path}</code>.
      </p>
      <p>To find an archived page, type its address:</p>
      <div class="missing-search">
        <SearchBox />
      </div>
      <p>
        Archived pages have addresses like <code>/web/2024/http://example.org/</code>, with a time and the original
        address. You can also go <a href={pathTo.home()}>home</a>, to the <a href={pathTo.collections()}>collections</a>
        , or to the <a href={pathTo.help()}>help</a>.
      </p>
    </>
  );
}
