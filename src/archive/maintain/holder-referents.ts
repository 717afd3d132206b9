/** What the revisits of contents have to say about the records that hold these contents. */
import type { Place } from '../../catalog/index.ts';
import type { RecordAccess } from '../read/record-access.ts';
import { type Referent, referentOf } from '../revisit/referent.ts';

export class HolderReferents {
  readonly #access: RecordAccess;
  readonly #holders: ReadonlyMap<string, Place>;
  readonly #onUnknown: (content: string, holder: Place | undefined) => void;
  readonly #known = new Map<string, Referent | undefined>();

  /**
   * `holders`: the holder of each content. `onUnknown`: called once for each content without a referent; its holder is
   * given when there is one that cannot be read.
   */
  constructor(
    access: RecordAccess,
    holders: ReadonlyMap<string, Place>,
    onUnknown: (content: string, holder: Place | undefined) => void,
  ) {
    this.#access = access;
    this.#holders = holders;
    this.#onUnknown = onUnknown;
  }

  /** Undefined for a content without a holder that stays, or whose holder cannot be read. */
  async of(content: string): Promise<Referent | undefined> {
    if (this.#known.has(content)) return this.#known.get(content);
    const holder = this.#holders.get(content);
    const [head] = holder ? await this.#access.heads([holder]) : [];
    if (!head) this.#onUnknown(content, holder);
    const payloadDigest = head?.get('warc-payload-digest');
    const referent = head && { ...referentOf(head), payloadDigest, content };
    this.#known.set(content, referent);
    return referent;
  }
}
