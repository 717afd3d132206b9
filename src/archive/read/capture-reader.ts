/**
 * What other rooms read of captures and blocks. The archive has these methods and reads what is committed now. A view
 * has the same methods and reads the state at the moment it was opened. The methods are described at `CatalogView`.
 */
import type { CatalogView } from '../../catalog/index.ts';

export type CaptureReader = Pick<
  CatalogView,
  'captures' | 'capturesOf' | 'findCaptures' | 'nearest' | 'getBlocks' | 'blocks' | 'totals'
>;
