/** Help: addresses, keys, commands, and how other tools use the archive. */
import { useInfo } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { CommandLine, PinakesCommand } from '../components/command-line.tsx';
import { ShortcutList } from '../components/shortcuts.tsx';

const COMMANDS: readonly (readonly [does: string, command: string])[] = [
  ['Add files', 'add --collection spring crawls/'],
  ['Get one page as it was', 'get https://example.org/ --at 20240301'],
  ['Search the text of pages', "search 'title:library from:2020'"],
  ['Show what the archive holds and saves', 'stats'],
  ['Check the archive for damage', 'verify'],
  ['Export a part of the archive', 'export --prefix example.org/ example.wacz'],
  ['Free the space of deleted captures', 'compact'],
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
          <Term term={`${here}/web/2024/http://example.org/`}>the capture nearest to a time</Term>
          <Term term={`${here}/web/*/http://example.org/`}>all captures of a page</Term>
          <Term term={`${here}/web/*/example.org/news/*`}>all addresses under a prefix</Term>
          <Term term={`${here}/search?q=flood+site:example.org`}>pages of one site that contain a word</Term>
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
          While the server runs, it runs these commands for you. Commands that change the archive or take long are also
          listed as jobs.
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
          The archive consists of plain WARC files. Other tools can query its index with the CDX APIs of the Internet
          Archive, pywb and OutbackCDX, and with Memento.
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
          <Term term={`${here}/web/`}>TimeGate; put the address after it</Term>
          <Term term={`${here}/web/timemap/link/`}>TimeMap; put the address after it</Term>
        </dl>
        <h3>Scripts</h3>
        <p>
          The HTTP API is described in <a href="/api/openapi.json">/api/openapi.json</a>. Metrics for Prometheus are at{' '}
          <a href="/metrics">/metrics</a>.
        </p>
      </section>
      <section aria-labelledby="safety">
        <h2 id="safety">Safety</h2>
        <p>
          Archived pages run in a sandbox, on a separate origin{info ? ` (${info.replayOrigin})` : ''}. Their scripts
          cannot reach this web page, your token or the API of the server. They load nothing from outside the archive.
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
