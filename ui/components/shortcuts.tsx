/**
 * Keyboard shortcuts of all screens, and their list. They are off while the reader types, or if the reader turns them
 * off.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { navigate } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { areShortcutsOn, onShortcutSettingChange, setShortcutsOn } from '../app/shortcut-setting.ts';

const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ['/', 'go to the search box'],
  ['g h', 'home'],
  ['g s', 'search'],
  ['g c', 'collections'],
  ['g j', 'jobs'],
  ['n, p', 'next and previous capture of a page, or change in a comparison'],
  ['?', 'this list'],
  ['Esc', 'close the open list or dialog'],
];

const PLACES: Readonly<Record<string, string>> = {
  h: pathTo.home(),
  s: '/search',
  c: pathTo.collections(),
  j: pathTo.jobs(),
};
const SECOND_KEY_MS = 1500;

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let wentAt = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent) => {
      if (!areShortcutsOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const place = PLACES[event.key];
      if (event.key === '?') dialog.current?.showModal();
      else if (event.key === 'g') wentAt = event.timeStamp;
      else if (place !== undefined && event.timeStamp - wentAt < SECOND_KEY_MS) navigate(place);
      else if (event.key === '/') {
        const box = document.querySelector<HTMLInputElement>('[data-shortcut="search"]');
        box?.focus();
        box?.select();
      } else if (event.key === 'n' || event.key === 'p') {
        document.querySelector<HTMLElement>(`[data-shortcut="${event.key}"]`)?.click();
        return;
      } else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <dialog ref={dialog} class="shortcuts" aria-labelledby="shortcuts-title">
      <h2 id="shortcuts-title">Keys</h2>
      <ShortcutList />
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

export function ShortcutList() {
  const [isOn, setIsOn] = useState(areShortcutsOn());
  // The list may be on the screen twice, so both lists follow the setting.
  useEffect(() => onShortcutSettingChange(() => setIsOn(areShortcutsOn())), []);
  return (
    <>
      <dl class="keys">
        {SHORTCUTS.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <div class="field switch">
        <label>
          <input type="checkbox" checked={isOn} onChange={(event) => setShortcutsOn(event.currentTarget.checked)} />
          Use keyboard shortcuts
        </label>
      </div>
    </>
  );
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && ['checkbox', 'radio'].includes(target.type)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}
