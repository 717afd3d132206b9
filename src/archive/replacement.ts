/** How a segment that compaction wrote says which segment it takes the place of: in its warcinfo record. */
import { fromUtf8 } from '../base/index.ts';
import type { Field } from '../warc/index.ts';

const REPLACES = 'pinakes-replaces';

export function replacesField(segmentName: string): Field {
  return { name: REPLACES, value: segmentName };
}

/** Name of the segment that the warcinfo's block says it replaces. */
export function replacedBy(warcinfo: Uint8Array): string | undefined {
  const match = new RegExp(`^${REPLACES}:\\s*(\\S+)\\s*$`, 'im').exec(fromUtf8(warcinfo));
  return match?.[1];
}
