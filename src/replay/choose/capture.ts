/** The parts of an archive that the choice of a capture reads. */
import type { Archive } from '../../archive/index.ts';

export type { Capture, CaptureRange } from '../../archive/index.ts';

export type CaptureSource = Pick<Archive, 'captures' | 'capturesOf' | 'nearest' | 'getBlocks' | 'open'> & {
  readonly records: Pick<Archive['records'], 'locate' | 'recordsBehind'>;
};
