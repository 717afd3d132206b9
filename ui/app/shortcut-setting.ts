/**
 * Whether keys without Ctrl or Alt act. Who speaks to the computer, or touches keys unawares, can switch them off (WCAG
 * 2.2, 2.1.4). The choice is kept in this browser.
 */
const KEY = 'pinakes.keys';
const CHANGED = 'pinakes:keys';

let isOn = storedChoice();

function storedChoice(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    // Storage may be switched off.
    return true;
  }
}

export function areShortcutsOn(): boolean {
  return isOn;
}

export function onShortcutSettingChange(listener: () => void): () => void {
  addEventListener(CHANGED, listener);
  return () => removeEventListener(CHANGED, listener);
}

export function setShortcutsOn(wanted: boolean): void {
  isOn = wanted;
  try {
    if (wanted) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, 'off');
  } catch {
    // The choice then lasts as long as the page.
  }
  dispatchEvent(new Event(CHANGED));
}
