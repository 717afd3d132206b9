/** Referents of contents: the fields by which a revisit names the record that holds its content. */
import type { Place } from '../../catalog/index.ts';
import type { RecordAccess } from '../read/record-access.ts';
import { type Referent, referentOf } from '../revisit/referent.ts';

export class HolderReferents {
  readonly #access: RecordAccess;
  readonly #holders: ReadonlyMap<string, Place>;
  readonly #onUnknown: (content: string, holder: Place | undefined) => Promise<void>;
  readonly #known = new Map<string, Referent | undefined>();

  /**
   * `holders`: the holder of each content. `onUnknown`: called once for each content without a referent, with the
   * holder if there is one but it cannot be read.
   */
  constructor(
    access: RecordAccess,
    holders: ReadonlyMap<string, Place>,
    onUnknown: (content: string, holder: Place | undefined) => Promise<void>,
  ) {
    this.#access = access;
    this.#holders = holders;
    this.#onUnknown = onUnknown;
  }

  /** Undefined when the content is not in `holders`, or when its holder cannot be read. */
  async of(content: string): Promise<Referent | undefined> {
    if (this.#known.has(content)) return this.#known.get(content);
    const holder = this.#holders.get(content);
    const [head] = holder ? await this.#access.heads([holder]) : [];
    if (!head) await this.#onUnknown(content, holder);
    const payloadDigest = head?.get('warc-payload-digest');
    const referent = head && { ...referentOf(head), payloadDigest, content };
    this.#known.set(content, referent);
    return referent;
  }
}
