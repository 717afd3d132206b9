/** Uploads files that the reader chose or dropped, one after another, with progress. Each file becomes a job. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { forgetSent, sendFiles, stopSending, useUploads } from '../../api/upload-queue.ts';
import { pathTo } from '../../app/route.ts';
import { formatBytes } from '../../app/wording.ts';
import { FaultNotice } from '../notice.tsx';

/**
 * Takes files that are dropped anywhere on the page, because a browser would otherwise open a dropped file. Returns
 * true while files are dragged over the page.
 */
function useDrop(onFiles: (files: FileList | undefined) => void): boolean {
  const [isOver, setIsOver] = useState(false);
  const taker = useRef(onFiles);
  taker.current = onFiles;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const holdsFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;
    const over = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setIsOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setIsOver(false);
      taker.current(event.dataTransfer?.files);
    };
    addEventListener('dragover', over, { signal });
    addEventListener('dragleave', leave, { signal });
    addEventListener('drop', drop, { signal });
    return () => controller.abort();
  }, []);
  return isOver;
}

export function UploadForm() {
  const id = useId();
  const [collection, setCollection] = useState('');
  const files = useUploads();
  useEffect(() => forgetSent, []);
  const send = (list: FileList | null | undefined) => sendFiles(list ?? [], collection.trim());
  const isOver = useDrop(send);
  return (
    <section class={isOver ? 'upload over' : 'upload'} aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`}>Upload files</h3>
      <p class="muted">
        Drop WARC, ARC or WACZ files on this page, or choose them. Contents that are already in the archive are not
        stored again.
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
            {jobId !== undefined && <a href={pathTo.job(jobId)}>Uploaded; see the job</a>}
            {error && <FaultNotice error={error} />}
            {jobId === undefined && !error && (
              <>
                <progress max={1} value={share} aria-label={`Sending ${file.name}`} />
                <button
                  type="button"
                  class="plain"
                  aria-label={`Stop sending ${file.name}`}
                  onClick={() => stopSending(key)}
                >
                  Stop
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
