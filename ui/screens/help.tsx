/** Help: addresses, keys, command lines, and how other tools use the archive. */
import { useInfo } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { CommandLine, PinakesCommand } from '../components/command-line.tsx';
import { ShortcutList } from '../components/shortcuts.tsx';

const COMMANDS: readonly (readonly [does: string, command: string])[] = [
  ['Take files in', 'add --collection spring crawls/'],
  ['Get one page as it was', 'get https://example.org/ --at 20240301'],
  ['Search the texts of pages', "search 'title:library from:2020'"],
  ['See what there is and what is saved', 'stats'],
  ['Check that everything is as it was stored', 'verify'],
  ['Take a part along', 'export --prefix example.org/ example.wacz'],
  ['Free the bytes of what was deleted', 'compact'],
];

export function HelpScreen() {
  useTitle('Help');
  const info = useInfo();
  const here = location.origin;
  return (
    <>
      <h1>Help</h1>
      <section aria-labelledby="addresses">
        <h2 id="addresses">Addresses</h2>
        <dl class="terms">
          <Term term={`${here}/web/2024/http://example.org/`}>the page nearest to a time</Term>
          <Term term={`${here}/web/*/http://example.org/`}>all captures of a page</Term>
          <Term term={`${here}/web/*/example.org/news/*`}>every page under an address</Term>
          <Term term={`${here}/search?q=flood+site:example.org`}>pages with a word, on one site</Term>
          <Term term={`${here}/links?url=http://example.org/`}>pages that link to a page</Term>
          <Term term={`${here}/web/20240301id_/http://example.org/`}>the bytes as they were captured</Term>
          <Term term={`${here}/web/20240301if_/http://example.org/`}>the page without the banner</Term>
        </dl>
      </section>
      <section aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        <ShortcutList />
      </section>
      <section aria-labelledby="commands">
        <h2 id="commands">In a terminal</h2>
        <p>
          While the server runs, these commands run inside of it. Those that change something, or take long, are jobs
          too.
        </p>
        {COMMANDS.map(([does, command]) => (
          <div key={command} class="command-item">
            <h3>{does}</h3>
            <PinakesCommand words={command} />
          </div>
        ))}
      </section>
      <section aria-labelledby="tools">
        <h2 id="tools">With other tools</h2>
        <p>
          The files of the archive are plain WARC files. Its index speaks the CDX dialects of the Internet Archive, pywb
          and OutbackCDX, and Memento.
        </p>
        <h3>pywb</h3>
        <p>In its config.yaml:</p>
        <CommandLine
          command={[
            'collections:',
            '  pinakes:',
            `    index_paths: cdx+${here}/cdx/pywb`,
            `    archive_paths: ${here}/warc/`,
          ].join('\n')}
        />
        <h3>Memento clients</h3>
        <dl class="terms">
          <Term term={`${here}/web/`}>TimeGate, followed by the address</Term>
          <Term term={`${here}/web/timemap/link/`}>TimeMap, followed by the address</Term>
        </dl>
        <h3>Scripts</h3>
        <p>
          The HTTP interface describes itself in <a href="/api/openapi.json">/api/openapi.json</a>. Figures for
          Prometheus are at <a href="/metrics">/metrics</a>.
        </p>
      </section>
      <section aria-labelledby="safety">
        <h2 id="safety">Safety</h2>
        <p>
          Archived pages are shown from an origin of their own{info ? ` (${info.replayOrigin})` : ''}, in a sandbox.
          Their scripts cannot reach these pages, the token or the server's interface, and load nothing from outside of
          the archive.
        </p>
      </section>
    </>
  );
}

function Term({ term, children }: { term: string; children: string }) {
  return (
    <div>
      <dt>
        <code>{term}</code>
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
