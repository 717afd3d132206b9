/**
 * Files on their way to the server, one after another. They belong to the tab and not to a screen: who looks at
 * something else meanwhile finds them as they stand, and who closes the tab is asked first.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, type Upload, upload } from './client.ts';
import { asApiError } from './request.ts';

export type Sending = {
  readonly key: number;
  readonly file: File;
  readonly share: number;
  readonly jobId?: string;
  readonly error?: ApiError;
};

const CHANGED = 'pinakes-uploads';

let sendings: readonly Sending[] = [];
let count = 0;
let queue: Promise<void> = Promise.resolve();
let current: { readonly key: number; readonly upload: Upload } | undefined;

export function sendFiles(files: Iterable<File>, collection: string): void {
  for (const file of files) {
    const key = count++;
    change([...sendings, { key, file, share: 0 }]);
    queue = queue.then(() => send(key, file, collection));
  }
}

/** Breaks off the one that is being sent; one that waits is not begun. */
export function stopSending(key: number): void {
  if (current?.key === key) current.upload.cancel();
  else update(key, { error: new ApiError(0, { code: 'CANCELLED', message: 'The upload was stopped.' }) });
}

/** Lets go of those whose jobs are listed by now. */
export function forgetSent(): void {
  change(sendings.filter(({ jobId }) => jobId === undefined));
}

export function useUploads(): readonly Sending[] {
  const [known, setKnown] = useState(sendings);
  useEffect(() => {
    const take = () => setKnown(sendings);
    take();
    addEventListener(CHANGED, take);
    return () => removeEventListener(CHANGED, take);
  }, []);
  return known;
}

async function send(key: number, file: File, collection: string): Promise<void> {
  if (sendings.find((one) => one.key === key)?.error) return;
  try {
    const begun = upload(file, collection, (share) => update(key, { share }));
    current = { key, upload: begun };
    update(key, { share: 1, jobId: (await begun.job).id });
  } catch (error) {
    update(key, { error: asApiError(error) });
  }
  current = undefined;
}

function update(key: number, news: Partial<Sending>): void {
  change(sendings.map((one) => (one.key === key ? { ...one, ...news } : one)));
}

function change(next: readonly Sending[]): void {
  sendings = next;
  const isUnderWay = sendings.some(({ jobId, error }) => jobId === undefined && !error);
  if (isUnderWay) addEventListener('beforeunload', askFirst);
  else removeEventListener('beforeunload', askFirst);
  dispatchEvent(new Event(CHANGED));
}

function askFirst(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
