/** Sets the theme before the first paint, so that the screen does not flash in the wrong theme. */
import { applyTheme, storedTheme } from './app/theme.ts';

applyTheme(storedTheme());
