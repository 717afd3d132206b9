/**
 * The methods with which other rooms read captures and blocks. The archive has these methods and reads the committed
 * state of this moment. A view has the same methods and reads the state at the moment when the view was opened. The
 * methods are described at `CatalogView`.
 */
import type { CatalogView } from '../../catalog/index.ts';

export type CaptureReader = Pick<
  CatalogView,
  'captures' | 'capturesOf' | 'findCaptures' | 'nearest' | 'getBlocks' | 'blocks' | 'totals'
>;

/** A view can count all references to a content as well. */
export type CaptureView = CaptureReader & Pick<CatalogView, 'countReferences'>;
