/** Runs before anything is painted, so that a chosen theme never flashes into place. */
import { applyTheme, storedTheme } from './app/theme.ts';

applyTheme(storedTheme());
