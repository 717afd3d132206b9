/** Deletes captures, or takes a content down, with the code of the ledger (D1, D2, D3). */
import { fromHex, PinakesError } from '../../src/base/index.ts';
import { Deleter, type DeletionReport, type DeletionRequest, leasesToHeal, takeDown } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { type Book, CAPTURE_DATE, digestOfContent, idOf, keyOf } from './book.ts';
import { heal } from './ledger-healer.ts';
import { COLLECTION, DELETIONS, type WriterOptions, writerLease, writerOf } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

/** How long a takedown waits for others to seal what may have the bytes. */
const WAIT_MS = 1000;

export type Wanted = { readonly capture: string } | { readonly takedown: string };

export type LedgerDeleterOptions = WriterOptions & { readonly staysOpen?: boolean };

export function ledgerDeleter(wanted: Wanted, { staysOpen = false, ...options }: LedgerDeleterOptions = {}): Work {
  return async (machine) => {
    try {
      const given = await writerLease(machine, options);
      if (!given) return;
      const lease = given === 'none' ? undefined : given;
      const { catalog, clock, ids: newId, book, sleep } = machine;
      const writer = writerOf(machine, { lease, ...options });
      const collectionName = () => COLLECTION;
      const deleter = new NotingDeleter({ catalog, writer, kind: DELETIONS, collectionName, clock, newId }, book);
      if ('capture' in wanted) {
        const question = { urlKey: keyOf(wanted.capture) as UrlKey, time: Date.parse(CAPTURE_DATE) };
        const [seen = []] = await catalog.findCaptures([question]);
        await deleter.deleteCaptures(seen, machine.name);
      } else {
        const { takedown: content } = wanted;
        book.barTried.add(content);
        const bars = [{ kind: 'content', digest: fromHex(digestOfContent(content))! } as const];
        const seal = () => healEnded(machine, options);
        await takeDown({ catalog, lease, deleter, seal, sleep, waitMs: WAIT_MS }, { id: machine.name, bars });
        book.barred.add(content);
      }
      if (!staysOpen) for (const open of writer.openSegments()) if (open.segment.bytes > 0) await writer.seal(open);
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  };
}

/** Writes into the book what is deleted. */
class NotingDeleter extends Deleter {
  readonly #book: Book;

  constructor(options: ConstructorParameters<typeof Deleter>[0], book: Book) {
    super(options);
    this.#book = book;
  }

  override async delete(request: DeletionRequest): Promise<DeletionReport> {
    let chosen: readonly string[] = [];
    const choose = async () => {
      const captures = await request.choose();
      chosen = captures.map(({ url }) => idOf(url));
      for (const id of chosen) this.#book.deletionTried.add(id);
      return captures;
    };
    const report = await super.delete({ ...request, choose });
    for (const id of chosen) this.#book.deleted.add(id);
    return report;
  }
}

async function healEnded(machine: Machine, { volume }: WriterOptions): Promise<void> {
  for (const name of await leasesToHeal(machine.catalog)) await heal(machine, name, volume);
}

function isRefused(error: unknown): boolean {
  return isGivenUp(error) || (error instanceof PinakesError && error.code === 'ARCHIVE_BUSY');
}
