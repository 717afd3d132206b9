/**
 * The search box for addresses and words, with suggestions of archived addresses. An ARIA combobox: arrow keys choose,
 * Enter goes to the choice, Escape closes the list.
 */
import { useEffect, useId, useState } from 'preact/hooks';
import { apiPath, get } from '../../api/client.ts';
import type { UrlSummary } from '../../api/replies.ts';
import type { List } from '../../api/request.ts';
import { navigate } from '../../app/navigation.ts';
import { mayBeginAddress, pathTo, pathToTyped, withScheme } from '../../app/route.ts';
import { counted, shortened, shownUrl } from '../../app/wording.ts';
import { Icon } from '../icon.tsx';

const PAUSE_MS = 120;
const SHOWN = 8;
const ADDRESS_LENGTH_MAX = 140;

type SearchBoxProperties = { readonly initial?: string; readonly isSmall?: boolean; readonly label?: string };

export function SearchBox({ initial = '', isSmall = false, label = 'Find' }: SearchBoxProperties) {
  const id = useId();
  const [typed, setTyped] = useState(initial);
  const [isOpen, setIsOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const found = useSuggestions(isOpen ? typed : '');
  const isShown = isOpen && found.length > 0;

  const go = (path: string | undefined) => {
    if (path === undefined) return;
    setIsOpen(false);
    navigate(path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && isShown) {
      setIsOpen(false);
      event.stopPropagation();
    } else if (isShown && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setChosen(((chosen + 1 + step + found.length + 1) % (found.length + 1)) - 1);
    }
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: the search element is not known to every browser yet.
    <form
      class={isSmall ? 'url-search small' : 'url-search'}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(isShown && found[chosen] ? pathTo.captures(found[chosen].url) : pathToTyped(typed));
      }}
    >
      <label class="unseen" for={`${id}-box`}>
        Address of an archived page, or words to search for
      </label>
      <input
        id={`${id}-box`}
        class="url-box"
        type="text"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        placeholder={isSmall ? 'Address or words' : 'example.org/news/*, or words'}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-activedescendant={isShown && chosen >= 0 ? `${id}-${chosen}` : undefined}
        value={typed}
        data-shortcut="search"
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setIsOpen(true);
          setChosen(-1);
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setIsOpen(false)}
      />
      <button type="submit" class={isSmall ? 'icon-button' : 'primary'} aria-label={label}>
        {isSmall ? <Icon name="search" /> : label}
      </button>
      <div id={`${id}-list`} class="suggestions" role="listbox" aria-label="Addresses in the archive" hidden={!isShown}>
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the box above handles the keys.
          <div
            key={one.urlKey}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => go(pathTo.captures(one.url))}
          >
            <bdi dir="ltr" class="suggestion-url">
              {shortened(shownUrl(one.url), ADDRESS_LENGTH_MAX)}
            </bdi>
            <span class="suggestion-count">{counted(one.captures, 'capture')}</span>
          </div>
        ))}
      </div>
    </form>
  );
}

/** Archived addresses that begin with the typed text. They are fetched when the reader pauses typing. */
function useSuggestions(typed: string): readonly UrlSummary[] {
  const [found, setFound] = useState<readonly UrlSummary[]>([]);
  const text = typed.trim().replace(/\*$/, '');
  useEffect(() => {
    if (!mayBeginAddress(text)) {
      setFound([]);
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      const path = apiPath('urls', { prefix: withScheme(text), limit: SHOWN });
      get<List<UrlSummary>>(path, controller.signal).then(
        ({ items }) => setFound(items.slice(0, SHOWN)),
        () => setFound([]),
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  return found;
}
