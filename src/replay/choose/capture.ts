/** Captures as the archive hands them out. */
import type { Archive, Retrieved } from '../../archive/index.ts';

export type Capture = Retrieved['capture'];

export type CaptureRange = Parameters<Archive['catalog']['captures']>[0];
