/** Counts the requests of a volume. The numbers are since the volume was opened. */

export type RequestKind = 'put' | 'get' | 'head' | 'list' | 'delete';

export type RequestCounts = {
  /** Requests that were sent, tries included. Copies and parts of uploads are puts. */
  readonly puts: number;
  readonly gets: number;
  readonly heads: number;
  readonly lists: number;
  readonly deletes: number;
  /** Bytes of objects in answers and in requests. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Requests that were sent again. */
  readonly retries: number;
  /** Requests under way. */
  readonly pending: Readonly<Record<RequestKind, number>>;
  /** The last failure of a request, also when a later try succeeded. */
  readonly lastError: string | undefined;
};

export class RequestCounter {
  readonly #sent: Record<RequestKind, number> = { put: 0, get: 0, head: 0, list: 0, delete: 0 };
  readonly #pending: Record<RequestKind, number> = { put: 0, get: 0, head: 0, list: 0, delete: 0 };
  #bytesRead = 0;
  #bytesWritten = 0;
  #retries = 0;
  #lastError: string | undefined;

  begin(kind: RequestKind): Disposable {
    this.#sent[kind]++;
    this.#pending[kind]++;
    return { [Symbol.dispose]: () => void this.#pending[kind]-- };
  }

  read(bytes: number): void {
    this.#bytesRead += bytes;
  }

  wrote(bytes: number): void {
    this.#bytesWritten += bytes;
  }

  failed(text: string): void {
    this.#lastError = text;
  }

  retried(): void {
    this.#retries++;
  }

  counts(): RequestCounts {
    const { put, get, head, list, delete: deletes } = this.#sent;
    return {
      puts: put,
      gets: get,
      heads: head,
      lists: list,
      deletes,
      bytesRead: this.#bytesRead,
      bytesWritten: this.#bytesWritten,
      retries: this.#retries,
      pending: { ...this.#pending },
      lastError: this.#lastError,
    };
  }
}
