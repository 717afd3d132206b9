/** All addresses under a prefix, one page of the list at a time. */
import { apiPath } from '../api/client.ts';
import type { UrlSummary } from '../api/replies.ts';
import { useList } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { readableHost } from '../app/readable-host.ts';
import { pathTo } from '../app/route.ts';
import { formatCount, formatShortDay, kindOfContent, readableUrl, shortened, shownUrl } from '../app/wording.ts';
import { AddressTitle } from '../components/address-title.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';

const PAGE = 100;
/** The number of characters shown of an address. */
const ADDRESS_LENGTH_MAX = 300;

export function PrefixScreen({ prefix }: { prefix: string }) {
  const shown = readableUrl(prefix.replace(/^https?:\/\//i, '').replace(/^[^/?#]+/, readableHost));
  useTitle(`Addresses under ${shown}`);
  const list = useList<UrlSummary>(apiPath('urls', { prefix, limit: PAGE }));
  const isEmpty = list.items.length === 0 && !list.isLoading && !list.error;
  return (
    <>
      <AddressTitle kicker="Addresses under" address={`${shown}*`} />
      {list.items.length > 0 && (
        <table class="stacking urls">
          <caption class="unseen">Addresses under {shown}</caption>
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                Captures
              </th>
              <th scope="col" class="number">
                Distinct
              </th>
              <th scope="col">First</th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {list.items.map((one) => (
              <tr key={one.urlKey}>
                <th scope="row" class="url-cell">
                  <a href={pathTo.captures(one.url)}>
                    <bdi dir="ltr">{shortened(shownUrl(one.url), ADDRESS_LENGTH_MAX)}</bdi>
                  </a>
                </th>
                <td data-label="Type" class="kind">
                  {kindOfContent(one.mime)}
                </td>
                <td data-label="Captures" class="number">
                  {formatCount(one.captures)}
                </td>
                <td data-label="Distinct" class="number">
                  {formatCount(one.distinct)}
                </td>
                <td data-label="First" class="date">
                  {formatShortDay(one.first)}
                </td>
                <td data-label="Last" class="date">
                  {formatShortDay(one.last)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {list.isLoading && <Waiting what="Fetching addresses" />}
      {list.error && <FaultNotice error={list.error} onRetry={list.more} />}
      {isEmpty && (
        <Note title="The archive has nothing under this address.">
          <p>
            Try a shorter address: <code>example.org/*</code> finds everything on a host.
          </p>
        </Note>
      )}
      {list.hasMore && !list.isLoading && (
        <button type="button" class="more" onClick={list.more}>
          Show more addresses
        </button>
      )}
    </>
  );
}
