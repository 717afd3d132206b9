/** An address that is no screen. */
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { UrlSearch } from '../components/url-search.tsx';

export function MissingScreen({ path }: { path: string }) {
  useTitle('Not found');
  return (
    <>
      <h1>There is no such page</h1>
      <p class="lead">
        <code>{path.length > 200 ? `${path.slice(0, 200)}\u2026` : path}</code> leads nowhere here.
      </p>
      <p>If you look for an archived page, type its address:</p>
      <div class="missing-search">
        <UrlSearch />
      </div>
      <p>
        Archived pages are at <code>/web/</code>, a time, and the address: <code>/web/2024/http://example.org/</code>.
        Or go <a href={pathTo.home()}>home</a>, to the <a href={pathTo.collections()}>collections</a>, or to the{' '}
        <a href={pathTo.help()}>help</a>.
      </p>
    </>
  );
}
