/** Links of one page: the pages that link to it, and the addresses that it links to. */
import { useMemo } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { LinkEnd, LinkPage } from '../api/replies.ts';
import { useList } from '../api/request.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatSpan, shortened, shownUrl } from '../app/wording.ts';
import { AddressTitle } from '../components/address-title.tsx';
import { type LinkRow, rowOf, rowsByPage } from '../components/captures/link-rows.ts';
import { Choice } from '../components/forms/choice.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';

const PAGE = 100;
/** The number of characters shown of an address, or of the text of a link. */
const TEXT_LENGTH_MAX = 300;

type LinksProperties = { readonly url: string; readonly direction: 'in' | 'out' };

const DIRECTIONS = [
  ['in', 'To this page'],
  ['out', 'From this page'],
] as const;

const KINDS: Readonly<Record<string, string>> = {
  anchor: 'link',
  canonical: 'canonical address',
  refresh: 'redirect by the page',
  style: 'style sheet',
};

export function LinksScreen({ url, direction }: LinksProperties) {
  return url === '' ? <NoPage /> : <LinksOf url={url} direction={direction} />;
}

function NoPage() {
  useTitle('Links');
  return (
    <>
      <h1>Links</h1>
      <Note title="Choose a page first.">
        <p>Find an address, then follow “Links to and from this page”.</p>
      </Note>
    </>
  );
}

function LinksOf({ url, direction }: LinksProperties) {
  useTitle(`Links ${direction === 'in' ? 'to' : 'from'} ${shownUrl(url)}`);
  const list = useList<LinkEnd, LinkPage>(apiPath('links', { url, direction, limit: PAGE }));
  const total = list.first?.total ?? 0;
  const rows = useMemo(
    () => (direction === 'in' ? rowsByPage(list.items) : list.items.map(rowOf)),
    [list.items, direction],
  );
  return (
    <>
      <AddressTitle kicker="Links of" address={shownUrl(url)} />
      <p>
        <a href={pathTo.captures(url)}>Captures of this page</a>
      </p>
      <Choice
        label="Which links"
        options={DIRECTIONS}
        chosen={direction}
        onChoose={(next) => navigate(pathTo.links(url, next), { replace: true })}
      />
      {list.first && total > 0 && (
        <h2 class="links-count">
          {direction === 'in'
            ? `${counted(total, 'page links', 'pages link')} here`
            : `${counted(total, 'link')} in its latest version`}
        </h2>
      )}
      {rows.length > 0 && <LinkTable rows={rows} direction={direction} />}
      {list.isLoading && <Waiting what="Fetching links" />}
      {list.error && <FaultNotice error={list.error} onRetry={list.more} />}
      {list.first && list.items.length === 0 && <NoLinks direction={direction} />}
      {list.hasMore && !list.isLoading && (
        <button type="button" class="more" onClick={list.more}>
          Show more links
        </button>
      )}
    </>
  );
}

function LinkTable({ rows, direction }: { rows: readonly LinkRow[]; direction: 'in' | 'out' }) {
  return (
    <table class="stacking urls links">
      <caption class="unseen">{direction === 'in' ? 'Pages that link here' : 'Where this page links to'}</caption>
      <thead>
        <tr>
          <th scope="col">{direction === 'in' ? 'Page' : 'Address'}</th>
          <th scope="col">Text</th>
          <th scope="col">Kind</th>
          <th scope="col">Seen</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((one, index) => (
          <tr key={index}>
            <th scope="row" class="url-cell">
              <a href={one.isKnown ? pathTo.links(one.url, direction) : pathTo.captures(one.url)}>
                <bdi dir="ltr">{shortened(shownUrl(one.url), TEXT_LENGTH_MAX)}</bdi>
              </a>
            </th>
            <td data-label="Text" class="link-text">
              {textsOf(one).map((text) => (
                <div key={text}>
                  <bdi>{shortened(text, TEXT_LENGTH_MAX)}</bdi>
                </div>
              ))}
            </td>
            <td data-label="Kind">{kindsOf(one).join(', ')}</td>
            <td data-label="Seen" class="date">
              {formatSpan(one.first, one.last)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function textsOf({ links }: LinkRow): string[] {
  return [...new Set(links.map(({ text }) => text).filter((text) => text !== ''))];
}

function kindsOf({ links }: LinkRow): string[] {
  return [...new Set(links.map(({ kind, isNofollow }) => `${KINDS[kind] ?? kind}${isNofollow ? ' (nofollow)' : ''}`))];
}

function NoLinks({ direction }: { direction: 'in' | 'out' }) {
  return (
    <Note
      title={
        direction === 'in'
          ? 'No page of the archive links to this page.'
          : 'The index has no links in the latest version of this page.'
      }
    >
      <p>
        {direction === 'in'
          ? 'The index has links from pages of this archive only.'
          : 'Either the page has no links, or the archive has no text of it.'}
      </p>
    </Note>
  );
}
