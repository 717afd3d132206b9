/**
 * The light or dark theme: the theme of the reader's system, unless the reader chose a theme. This browser stores the
 * choice.
 */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'pinakes.theme';

export function storedTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    // Storage may be switched off.
    return 'system';
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice is lost when the page is closed.
  }
  dispatchEvent(new Event('pinakes-theme'));
}
