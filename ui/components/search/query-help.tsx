/** A short introduction to the query language. The examples are links. */
import { pathTo } from '../../app/route.ts';

const EXAMPLES: readonly (readonly [query: string, finds: string])[] = [
  ['flood warning', 'pages with both words'],
  ['"flood warning"', 'these words next to each other'],
  ['flood OR drought', 'pages with one of the words, or both'],
  ['flood -river', 'pages with the first word but not the second'],
  ['archiv*', 'words that begin with archiv'],
  ['title:library', 'pages with this word in the title'],
  ['site:example.org', 'a host and its subdomains; site:.edu for a top-level domain'],
  ['type:pdf lang:de', 'documents of a type, in a language'],
  ['from:2010 to:2012', 'captured in these years'],
  ['links-to:http://example.org/', 'pages that link to this page'],
  ['inlinks>10 -status:404', 'pages with links from more than ten pages, and without errors 404'],
];

export function QueryHelp({ isOpen = false }: { isOpen?: boolean }) {
  return (
    <details class="search-help" open={isOpen}>
      <summary>How to search</summary>
      <p>A space means “and”. Upper and lower case and accents make no difference.</p>
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
