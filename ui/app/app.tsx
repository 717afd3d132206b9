/** The frame of every screen: skip link, masthead, screen and footer. A replayed page has only its banner. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ApiError } from '../api/client.ts';
import { useInfo } from '../api/request.ts';
import { useSessionState } from '../api/session.ts';
import { Masthead } from '../components/masthead.tsx';
import { FaultNotice } from '../components/notice.tsx';
import { Shortcuts } from '../components/shortcuts.tsx';
import { AuditScreen } from '../screens/audit.tsx';
import { CapturesScreen } from '../screens/captures.tsx';
import { CollectionScreen } from '../screens/collection.tsx';
import { CollectionsScreen } from '../screens/collections.tsx';
import { CompareScreen } from '../screens/compare.tsx';
import { DeleteScreen } from '../screens/delete.tsx';
import { FrameScreen } from '../screens/frame.tsx';
import { HelpScreen } from '../screens/help.tsx';
import { HomeScreen } from '../screens/home.tsx';
import { JobScreen } from '../screens/job.tsx';
import { JobsScreen } from '../screens/jobs.tsx';
import { LinksScreen } from '../screens/links.tsx';
import { MissingScreen } from '../screens/missing.tsx';
import { NodesScreen } from '../screens/nodes.tsx';
import { PrefixScreen } from '../screens/prefix.tsx';
import { PrivateScreen } from '../screens/private.tsx';
import { SearchScreen } from '../screens/search.tsx';
import { TakedownsScreen } from '../screens/takedowns.tsx';
import { useRoute } from './navigation.ts';
import { pathTo, type Route } from './route.ts';

export function App() {
  const route = useRoute();
  const { session, error } = useSessionState();
  const isClosed = session?.isPrivate === true && !session.rights.includes('read');
  // Somebody may be known to the provider and have no role here.
  const isRefused = error?.status === 403;
  // A private archive refuses what a screen would ask for, so screens wait until it is known who uses them.
  if (!session && !error) return <Masthead route={route} />;
  if (isClosed || isRefused) {
    return (
      <>
        <Masthead route={route} isClosed />
        <main id="main" tabIndex={-1}>
          {isRefused ? <Refused error={error} /> : <PrivateScreen session={session!} />}
        </main>
        <Footer />
      </>
    );
  }
  if (route.kind === 'frame') {
    return (
      <>
        <Shortcuts />
        <FrameScreen time={route.time} modifier={route.modifier} url={route.url} />
      </>
    );
  }
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Shortcuts />
      <Masthead route={route} />
      <Main key={keyOf(route)}>{screenOf(route)}</Main>
      <Footer />
    </>
  );
}

function Refused({ error }: { error: ApiError }) {
  return (
    <>
      <h1>You cannot use this archive</h1>
      <FaultNotice error={error} />
    </>
  );
}

/** A new key makes the screen start with fresh state. */
function keyOf(route: Route): string {
  return route.kind === 'delete' ? 'delete' : JSON.stringify(route);
}

let isFirstScreen = true;

function Main({ children }: { children: ComponentChildren }) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    // The browser itself announces the first screen, because it is part of the page load.
    if (!isFirstScreen && !main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    isFirstScreen = false;
  }, []);
  return (
    <main id="main" tabIndex={-1} ref={main}>
      {children}
    </main>
  );
}

function screenOf(route: Exclude<Route, { kind: 'frame' }>) {
  switch (route.kind) {
    case 'home':
      return <HomeScreen />;
    case 'captures':
      return <CapturesScreen url={route.url} time={route.time} />;
    case 'prefix':
      return <PrefixScreen prefix={route.prefix} />;
    case 'compare':
      return <CompareScreen a={route.a} b={route.b} />;
    case 'collections':
      return <CollectionsScreen />;
    case 'collection':
      return <CollectionScreen name={route.name} />;
    case 'jobs':
      return <JobsScreen key={route.start} start={route.start} />;
    case 'job':
      return <JobScreen id={route.id} />;
    case 'delete':
      return <DeleteScreen given={route.selection} />;
    case 'nodes':
      return <NodesScreen />;
    case 'audit':
      return <AuditScreen />;
    case 'takedowns':
      return <TakedownsScreen />;
    case 'search':
      return <SearchScreen input={route.input} />;
    case 'links':
      return <LinksScreen url={route.url} direction={route.direction} />;
    case 'help':
      return <HelpScreen />;
    case 'missing':
      return <MissingScreen path={route.path} />;
  }
}

function Footer() {
  const info = useInfo();
  return (
    <footer class="foot">
      <p>
        Pinakes {info?.version ?? ''} stores every distinct content once, in plain WARC files.{' '}
        <a href={pathTo.help()}>Help</a> · <a href="/assets/licences.txt">Licences</a>
      </p>
    </footer>
  );
}
