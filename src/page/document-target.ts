/**
 * Receives the text, links and facts of a PDF or office document, or of a feed. Parts without a receiver are not read.
 */
import type { MetaReader } from './html/meta-reader.ts';
import type { LinkCollector } from './link.ts';
import type { TextBuilder } from './text-builder.ts';

export type DocumentTarget = {
  readonly links: LinkCollector | undefined;
  readonly text: TextBuilder | undefined;
  readonly meta: MetaReader;
};
