/**
 * Records of mirrors, for readers of records that are damaged or not there (I15). Mirrors are opened when the first
 * such record is read, and again after a while, since a sync changes them. One that cannot be opened is left alone for
 * a while, so that readers do not wait for it every time.
 */
import { type Clock, PinakesError } from '../../base/index.ts';
import type { Block, Place, Segment } from '../../catalog/index.ts';
import type { WholeRecord } from '../read/content-copies.ts';
import { MirrorReader } from './mirror-reader.ts';
import type { MirrorSetting } from './mirror-setting.ts';
import { type CheckingArchive, mirrorSource } from './mirror-source.ts';
import type { OpenRemote } from './mirror-target.ts';

export type FallbackArchive = CheckingArchive & {
  readonly connector: { readonly mirrors?: readonly MirrorSetting[] | undefined };
  readonly openRemote: OpenRemote;
  readonly clock: Clock;
};

type Opened = { readonly setting: MirrorSetting; readonly reader: MirrorReader | undefined; readonly timeMs: number };

const FRESH_MS = 60_000;
/** A larger record is not read from a mirror, since it is checked before any of it is used. */
const RECORD_BYTES_MAX = 64 * 1024 * 1024;

export class MirrorFallback {
  readonly #archive: FallbackArchive;
  readonly #opened = new Map<string, Promise<Opened>>();
  #isClosed = false;

  constructor(archive: FallbackArchive) {
    this.#archive = archive;
  }

  get hasMirrors(): boolean {
    return this.#settings().length > 0;
  }

  /** The record at a place, from the first mirror that has it. `block`: the content that it holds, if any. */
  async find(segment: Pick<Segment, 'name'>, place: Place, block: Block | undefined): Promise<WholeRecord | undefined> {
    if (place.length > RECORD_BYTES_MAX) return undefined;
    for (const setting of this.#settings()) {
      const { reader } = await this.#open(setting);
      const found = reader && (await mirrorSource(this.#archive, reader)({ segment, place, block }));
      const record = found && this.#archive.access.copies.decode(found.member, found.dictionary);
      if (record) return record;
    }
    return undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const opened of this.#opened.values()) await (await opened).reader?.[Symbol.asyncDispose]();
    this.#opened.clear();
  }

  #settings(): readonly MirrorSetting[] {
    return this.#isClosed ? [] : (this.#archive.connector.mirrors ?? []);
  }

  async #open(setting: MirrorSetting): Promise<Opened> {
    const { clock } = this.#archive;
    for (;;) {
      const opening = this.#opened.get(setting.name);
      const opened = await opening;
      if (opened && opened.setting.id === setting.id && Math.abs(clock() - opened.timeMs) < FRESH_MS) return opened;
      // Another reader has opened it again meanwhile.
      if (opening !== this.#opened.get(setting.name)) continue;
      this.#opened.set(setting.name, this.#openNow(setting));
      await opened?.reader?.[Symbol.asyncDispose]();
    }
  }

  async #openNow(setting: MirrorSetting): Promise<Opened> {
    const { openRemote, clock } = this.#archive;
    const timeMs = clock();
    try {
      return { setting, reader: await MirrorReader.open(setting, openRemote), timeMs };
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      return { setting, reader: undefined, timeMs };
    }
  }
}
