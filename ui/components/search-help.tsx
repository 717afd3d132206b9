/** The query language in a few lines; examples are links. */
import { pathTo } from '../app/route.ts';

const EXAMPLES: readonly (readonly [query: string, finds: string])[] = [
  ['flood warning', 'pages with both words'],
  ['"flood warning"', 'these words next to each other'],
  ['flood OR drought', 'one of them, or both'],
  ['flood -river', 'the first without the second'],
  ['archiv*', 'words that begin so'],
  ['title:library', 'a word in the title'],
  ['site:example.org', 'a host and all hosts below it; site:.edu for all that end so'],
  ['type:pdf lang:de', 'documents of a type, in a language'],
  ['from:2010 to:2012', 'captured in this time'],
  ['links-to:http://example.org/', 'pages with a link to this one'],
  ['inlinks>10 -status:404', 'cited by more than ten pages, and not missing'],
];

export function SearchHelp({ isOpen = false }: { isOpen?: boolean }) {
  return (
    <details class="search-help" open={isOpen}>
      <summary>How to ask</summary>
      <p>Blanks mean and. Case and accents make no difference.</p>
      <dl class="terms">
        {EXAMPLES.map(([query, finds]) => (
          <div key={query}>
            <dt>
              <a href={pathTo.search({ query })}>
                <code>{query}</code>
              </a>
            </dt>
            <dd>{finds}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
