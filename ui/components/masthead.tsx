/** The top of every screen: logo, navigation, theme switch, and a search box if the screen does not have its own. */
import { useState } from 'preact/hooks';
import { useMay } from '../api/session.ts';
import { pathTo, type Route } from '../app/route.ts';
import { chooseTheme, storedTheme, type Theme } from '../app/theme.ts';
import { readableUrl } from '../app/wording.ts';
import { Account } from './account.tsx';
import { Icon, type IconName } from './icon.tsx';
import { SearchBox } from './search/search-box.tsx';

const PLACES: readonly { readonly label: string; readonly path: string; readonly kinds: readonly Route['kind'][] }[] = [
  { label: 'Search', path: '/search', kinds: ['search', 'links'] },
  { label: 'Collections', path: pathTo.collections(), kinds: ['collections', 'collection'] },
  { label: 'Jobs', path: pathTo.jobs(), kinds: ['jobs', 'job', 'nodes', 'audit'] },
  { label: 'Help', path: pathTo.help(), kinds: ['help'] },
];

/** Deleting is offered only to people who may do it. */
const DELETE = {
  label: 'Delete',
  path: pathTo.delete(),
  kinds: ['delete', 'takedowns'],
} satisfies (typeof PLACES)[number];

/** `isClosed`: the reader may not look, so there is nothing to search. */
export function Masthead({ route, isClosed = false }: { route: Route; isClosed?: boolean }) {
  const mayDelete = useMay('delete') === true;
  const places =
    mayDelete || DELETE.kinds.some((kind) => kind === route.kind) ? PLACES.toSpliced(3, 0, DELETE) : PLACES;
  return (
    <header class="masthead">
      <div class="masthead-row">
        <a class="wordmark" href={pathTo.home()} aria-current={route.kind === 'home' ? 'page' : undefined}>
          <Logo />
          Pinakes
        </a>
        <nav class="places" aria-label="Main">
          <ul>
            {places.map(({ label, path, kinds }) => (
              <li key={path}>
                <a href={path} aria-current={kinds.includes(route.kind) ? 'page' : undefined}>
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {!isClosed && route.kind !== 'home' && route.kind !== 'search' && (
          <div class="masthead-search">
            <SearchBox key={initialOf(route)} isSmall initial={initialOf(route)} />
          </div>
        )}
        <Account />
        <ThemeSwitch />
      </div>
    </header>
  );
}

function initialOf(route: Route): string {
  if (route.kind === 'captures') return readableUrl(route.url);
  return route.kind === 'prefix' ? `${readableUrl(route.prefix)}*` : '';
}

export function Logo() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect class="mark-ground" width="32" height="32" rx="6" />
      <path class="mark-books" d="M8 7h3v18H8zM13 7h3v18h-3zM18.2 7.6l2.9-.8 4.9 17.4-2.9.8z" />
    </svg>
  );
}

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' };
const ICONS: Readonly<Record<Theme, IconName>> = { system: 'half', light: 'sun', dark: 'moon' };
const WORDS: Readonly<Record<Theme, string>> = { system: 'system', light: 'light', dark: 'dark' };

function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const change = () => {
    chooseTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  const label = `Theme: ${WORDS[theme]}. Change to ${WORDS[NEXT[theme]]}`;
  return (
    <button type="button" class="icon-button theme-switch" aria-label={label} title={label} onClick={change}>
      <Icon name={ICONS[theme]} />
    </button>
  );
}
