/**
 * Home: the search box, the size and savings of the archive, its collections and recent jobs. For an empty archive it
 * explains how to fill it.
 */
import { useJobs } from '../api/job-events.ts';
import type { Stats } from '../api/replies.ts';
import { useInfo } from '../api/request.ts';
import { useStats } from '../api/stats.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatCount, formatSpan, formatTime, noun } from '../app/wording.ts';
import { Savings } from '../components/charts/savings.tsx';
import { PinakesCommand } from '../components/command-line.tsx';
import { JobList } from '../components/jobs/job-list.tsx';
import { FaultNotice, Waiting } from '../components/notice.tsx';
import { SearchBox } from '../components/search/search-box.tsx';

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
          See pages as they were. Type an address, or words to search for. An address that ends in * finds everything
          under it.
        </p>
        <SearchBox />
      </section>
      {error && <FaultNotice error={error} onRetry={reload} />}
      {!stats && !error && <Waiting what="Counting the captures of the archive" />}
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
        <h2 id="holdings">In this archive</h2>
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
          <h3>Add files</h3>
          <p>
            WARC, ARC and WACZ files of any crawler. <a href={pathTo.jobs()}>Upload them</a>, or add them in a terminal:
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
          <p>The archive reads the files in place and copies nothing:</p>
          <PinakesCommand words="add --in-place /mnt/old-crawls" />
        </li>
      </ol>
    </section>
  );
}
