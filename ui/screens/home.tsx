/**
 * Home: the search box, what the archive holds and saves, its collections, and what is being done. An empty archive
 * says how to fill it.
 */
import { useJobs } from '../api/job-events.ts';
import type { Stats } from '../api/replies.ts';
import { useInfo } from '../api/request.ts';
import { useStats } from '../api/stats.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatCount, formatSpan, formatTime, noun } from '../app/wording.ts';
import { PinakesCommand } from '../components/command-line.tsx';
import { JobList } from '../components/job-list.tsx';
import { FaultNotice, Waiting } from '../components/notice.tsx';
import { Savings } from '../components/savings.tsx';
import { UrlSearch } from '../components/url-search.tsx';

const RECENT = 5;
const CARDS = 8;

export function HomeScreen() {
  useTitle('');
  const info = useInfo();
  const { reply: stats, error, reload } = useStats();
  return (
    <>
      <section class="hero">
        <h1>{info?.name && info.name !== 'archive' ? info.name : 'Web archive'}</h1>
        <p class="lead">
          See pages as they were. Type an address, with * behind it for everything under it; or words to search for.
        </p>
        <UrlSearch />
      </section>
      {error && <FaultNotice error={error} onRetry={reload} />}
      {!stats && !error && <Waiting what="Counting what the archive holds" />}
      {stats && (stats.captures === 0 ? <EmptyArchive /> : <Holdings stats={stats} />)}
      <RecentJobs />
    </>
  );
}

function Holdings({ stats }: { stats: Stats }) {
  const firsts = stats.collections.map(({ firstTime }) => firstTime).sort();
  const lasts = stats.collections.map(({ lastTime }) => lastTime).sort();
  const [first, last] = [firsts[0], lasts.at(-1)];
  const newest = stats.collections.slice(-CARDS).reverse();
  return (
    <>
      <section aria-labelledby="holdings">
        <h2 id="holdings">What it holds</h2>
        <dl class="figures">
          <Figure label={noun(stats.captures, 'capture')} value={formatCount(stats.captures)} />
          <Figure label={noun(stats.blocks, 'distinct content')} value={formatCount(stats.blocks)} />
          {first && last && <Figure label="captured" value={formatSpan(first, last)} />}
        </dl>
        <Savings stats={stats} />
        <p class="counted muted">Counted on {formatTime(stats.computedAt)}.</p>
      </section>
      <section aria-labelledby="collections">
        <div class="section-head">
          <h2 id="collections">Collections</h2>
          <a href={pathTo.collections()}>All collections</a>
        </div>
        <ul class="cards">
          {newest.map((one) => (
            <li key={one.collection} class="card">
              <a href={pathTo.collection(one.collection)}>{one.collection}</a>
              <span class="muted">
                {counted(one.captures, 'capture')} of {counted(one.urls, 'address', 'addresses')}
              </span>
              <span class="muted">{formatSpan(one.firstTime, one.lastTime)}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

export function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function RecentJobs() {
  const { jobs } = useJobs();
  if (!jobs || jobs.length === 0) return null;
  return (
    <section aria-labelledby="recent">
      <div class="section-head">
        <h2 id="recent">Recent jobs</h2>
        <a href={pathTo.jobs()}>All jobs</a>
      </div>
      <JobList jobs={jobs.slice(0, RECENT)} />
    </section>
  );
}

function EmptyArchive() {
  const info = useInfo();
  return (
    <section class="empty" aria-labelledby="empty">
      <h2 id="empty">The archive is empty</h2>
      <p>There are three ways to fill it.</p>
      <ol class="ways">
        <li>
          <h3>Bring files</h3>
          <p>
            WARC, ARC and WACZ files of any crawler. <a href={pathTo.jobs()}>Upload them</a>, or add them where they
            lie:
          </p>
          <PinakesCommand words="add --collection first-crawl crawls/" />
        </li>
        <li>
          <h3>Crawl a site</h3>
          <p>
            {info?.capabilities.crawl ? (
              <>
                <a href={pathTo.jobs('crawl')}>Start a crawl here</a>, or in a terminal:
              </>
            ) : (
              'In a terminal:'
            )}
          </p>
          <PinakesCommand words="crawl https://example.org/" />
        </li>
        <li>
          <h3>Keep files where they are</h3>
          <p>Nothing is copied; the archive reads them in place:</p>
          <PinakesCommand words="add --in-place /mnt/old-crawls" />
        </li>
      </ol>
    </section>
  );
}
