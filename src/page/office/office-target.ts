/** Where what is read of an office document goes; parts that nobody asked for are absent. */

import type { MetaReader } from '../html/meta-reader.ts';
import type { LinkCollector } from '../link.ts';
import type { TextBuilder } from '../text-builder.ts';

export type OfficeTarget = {
  readonly links: LinkCollector | undefined;
  readonly text: TextBuilder | undefined;
  readonly meta: MetaReader;
};
