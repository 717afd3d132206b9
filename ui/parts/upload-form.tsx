/** Sends files from the reader's machine: chosen or dropped, one after another, each with its progress; each becomes a job. */
import { useId, useRef, useState } from 'preact/hooks';
import { type ApiError, type Upload, upload } from '../api/client.ts';
import { asApiError } from '../api/request.ts';
import { pathTo } from '../route.ts';
import { formatBytes } from '../wording.ts';
import { FaultNotice } from './notice.tsx';

type Sending = {
  readonly key: number;
  readonly file: File;
  readonly share: number;
  readonly jobId?: string;
  readonly error?: ApiError;
};

export function UploadForm() {
  const id = useId();
  const [collection, setCollection] = useState('');
  const [isOver, setIsOver] = useState(false);
  const [files, setFiles] = useState<readonly Sending[]>([]);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const current = useRef<Upload | undefined>(undefined);
  const count = useRef(0);

  const update = (key: number, change: Partial<Sending>) =>
    setFiles((before) => before.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const send = (list: FileList | null | undefined) => {
    for (const file of list ?? []) {
      const key = count.current++;
      setFiles((before) => [...before, { key, file, share: 0 }]);
      queue.current = queue.current.then(async () => {
        try {
          current.current = upload(file, collection.trim(), (share) => update(key, { share }));
          const job = await current.current.job;
          update(key, { share: 1, jobId: job.id });
        } catch (error) {
          update(key, { error: asApiError(error) });
        }
      });
    }
  };
  return (
    <section
      class={isOver ? 'upload over' : 'upload'}
      aria-labelledby={`${id}-title`}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        send(event.dataTransfer?.files);
      }}
    >
      <h3 id={`${id}-title`}>Upload files</h3>
      <p class="muted">
        Drop WARC, ARC or WACZ files here, or choose them. Contents that the archive holds are not stored again.
      </p>
      <div class="field-row">
        <div class="field">
          <label for={`${id}-collection`}>Collection</label>
          <input
            id={`${id}-collection`}
            type="text"
            placeholder="default"
            spellcheck={false}
            value={collection}
            onInput={(event) => setCollection(event.currentTarget.value)}
          />
        </div>
        <div class="field">
          <label for={`${id}-files`}>Files</label>
          <input
            id={`${id}-files`}
            type="file"
            multiple
            onChange={(event) => {
              send(event.currentTarget.files);
              event.currentTarget.value = '';
            }}
          />
        </div>
      </div>
      <ul class="uploads" aria-live="polite">
        {files.map(({ key, file, share, jobId, error }) => (
          <li key={key}>
            <span>
              {file.name} <span class="muted">{formatBytes(file.size)}</span>
            </span>
            {jobId !== undefined && <a href={pathTo.job(jobId)}>Sent; being added</a>}
            {error && <FaultNotice error={error} />}
            {jobId === undefined && !error && (
              <>
                <progress max={1} value={share} aria-label={`Sending ${file.name}`} />
                {share > 0 && (
                  <button type="button" class="plain" onClick={() => current.current?.cancel()}>
                    Stop
                  </button>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
