/** Light or dark: what the reader's system asks for, unless the reader chose. The choice is kept in this browser. */
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
    // The choice then lasts as long as the page.
  }
  dispatchEvent(new Event('pinakes-theme'));
}
