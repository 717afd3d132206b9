/** Captures as the archive hands them out. */
export type { Capture, CaptureRange } from '../../archive/index.ts';
