/**
 * The setting that turns keyboard shortcuts without Ctrl or Alt on or off. People who use speech input, or press keys
 * by accident, can turn them off (WCAG 2.2, 2.1.4). This browser stores the setting.
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
    // Without storage the setting is lost when the page is closed.
  }
  dispatchEvent(new Event(CHANGED));
}
