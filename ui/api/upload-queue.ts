/**
 * Uploads files one after another. The uploads belong to the tab and not to a screen, so they continue while the reader
 * looks at other screens. Closing the tab asks for confirmation.
 */
import { useEffect, useState } from 'preact/hooks';
import { ApiError, type Upload, upload } from './client.ts';
import { asApiError } from './request.ts';

export type UploadState = {
  readonly key: number;
  readonly file: File;
  readonly share: number;
  readonly jobId?: string;
  readonly error?: ApiError;
};

const CHANGED = 'pinakes-uploads';

let uploads: readonly UploadState[] = [];
let count = 0;
let queue: Promise<void> = Promise.resolve();
let current: { readonly key: number; readonly upload: Upload } | undefined;

export function sendFiles(files: Iterable<File>, collection: string): void {
  for (const file of files) {
    const key = count++;
    change([...uploads, { key, file, share: 0 }]);
    queue = queue.then(() => send(key, file, collection));
  }
}

/** Stops an upload that is running, or removes a waiting one from the queue. */
export function stopSending(key: number): void {
  if (current?.key === key) current.upload.cancel();
  else update(key, { error: new ApiError(0, { code: 'CANCELLED', message: 'The upload was stopped.' }) });
}

/** Removes uploads that have become jobs. */
export function forgetSent(): void {
  change(uploads.filter(({ jobId }) => jobId === undefined));
}

export function useUploads(): readonly UploadState[] {
  const [known, setKnown] = useState(uploads);
  useEffect(() => {
    const take = () => setKnown(uploads);
    take();
    addEventListener(CHANGED, take);
    return () => removeEventListener(CHANGED, take);
  }, []);
  return known;
}

async function send(key: number, file: File, collection: string): Promise<void> {
  if (uploads.find((one) => one.key === key)?.error) return;
  try {
    const begun = upload(file, collection, (share) => update(key, { share }));
    current = { key, upload: begun };
    update(key, { share: 1, jobId: (await begun.job).id });
  } catch (error) {
    update(key, { error: asApiError(error) });
  }
  current = undefined;
}

function update(key: number, news: Partial<UploadState>): void {
  change(uploads.map((one) => (one.key === key ? { ...one, ...news } : one)));
}

function change(next: readonly UploadState[]): void {
  uploads = next;
  const isUnderWay = uploads.some(({ jobId, error }) => jobId === undefined && !error);
  if (isUnderWay) addEventListener('beforeunload', confirmLeaving);
  else removeEventListener('beforeunload', confirmLeaving);
  dispatchEvent(new Event(CHANGED));
}

function confirmLeaving(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
