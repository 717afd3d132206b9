/** The log of takedowns of an open archive, as other rooms see it. */
import type { OpenedArchive } from '../opened-archive.ts';
import type { TakedownRecord, TakedownRecords } from '../takedown/takedown-records.ts';
import type { SearchOptions } from './barred-search.ts';
import type { TakedownCheck } from './takedown-check.ts';

export class LoggedTakedowns {
  readonly #archive: OpenedArchive;

  constructor(archive: OpenedArchive) {
    this.#archive = archive;
  }

  /** All takedowns, and what was changed in the log or is missing. */
  async read(): Promise<TakedownRecords> {
    const { readTakedowns } = await import('../takedown/takedown-records.ts');
    return readTakedowns(this.#archive);
  }

  /** One takedown by its number. */
  async find(id: number): Promise<TakedownRecord> {
    const { findTakedown } = await import('./takedown-check.ts');
    return findTakedown(this.#archive, id);
  }

  /**
   * Reads every file in which bytes of a takedown could be, of all takedowns without a number, and enters in the log
   * what was found.
   */
  async check(id: number | undefined, options: SearchOptions): Promise<TakedownCheck> {
    this.#archive.assertTaking();
    const { checkTakedowns } = await import('./takedown-check.ts');
    return checkTakedowns(this.#archive, id, options);
  }

  /** The receipt of a takedown, as one page of HTML to print. */
  async receipt(id: number): Promise<string> {
    const { formatReceipt } = await import('./takedown-receipt.ts');
    return formatReceipt(await this.find(id));
  }
}
