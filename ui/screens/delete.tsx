/** Deleting: select captures, see a preview of what would be deleted, confirm by typing, then watch the job. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiError, apiPath, post } from '../api/client.ts';
import type { DeletePreview, Job, PreviewedDelete, Selection, Stats } from '../api/replies.ts';
import { asApiError, useReply } from '../api/request.ts';
import { navigate, useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { counted, formatBytes } from '../app/wording.ts';
import { AccessGate } from '../components/access-gate.tsx';
import { SchemaFields } from '../components/forms/schema-fields.tsx';
import { filledIn, type Values } from '../components/forms/schema-values.ts';
import { selectionSchema } from '../components/forms/selection-schema.ts';
import { FaultNotice, Note } from '../components/notice.tsx';

export function DeleteScreen({ given }: { given: Readonly<Record<string, string>> }) {
  useTitle('Delete captures');
  return (
    <>
      <h1>Delete captures</h1>
      <p class="lead">
        Select captures. You see a preview first; nothing is deleted until you confirm. What may never come back is
        under <a href={pathTo.takedowns()}>takedowns</a>.
      </p>
      <AccessGate why="Deleting" right="delete">
        <Deletion given={given} />
      </AccessGate>
    </>
  );
}

type Previewed = PreviewedDelete & { readonly selection: Selection };

function Deletion({ given }: { given: Readonly<Record<string, string>> }) {
  const [values, setValues] = useState<Values>(given);
  const [previewed, setPreviewed] = useState<Previewed | undefined>(undefined);
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isAsking, setIsAsking] = useState(false);
  const { reply: stats } = useReply<Stats>('/api/stats');
  const schema = useMemo(() => selectionSchema(stats?.collections.map(({ collection }) => collection) ?? []), [stats]);
  const selection = filledIn(schema, values) as Selection;
  const isNothing = Object.keys(selection).length === 0;
  const preview = async () => {
    setIsAsking(true);
    setError(undefined);
    setPreviewed(undefined);
    try {
      setPreviewed({ ...(await post<PreviewedDelete>(apiPath('deletes/preview'), { selection })), selection });
    } catch (failure) {
      setError(asApiError(failure));
    }
    setIsAsking(false);
  };
  return (
    <>
      <form
        class="selection"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isNothing) preview();
        }}
      >
        <fieldset class="group columns">
          <legend>Which captures</legend>
          <p class="hint">{schema.description}</p>
          <SchemaFields
            schema={schema}
            values={values}
            onChange={(next) => {
              setValues(next);
              setPreviewed(undefined);
            }}
          />
        </fieldset>
        <button type="submit" class="primary" disabled={isNothing || isAsking}>
          {isAsking ? 'Counting' : 'Preview'}
        </button>
      </form>
      {error && <FaultNotice error={error} />}
      <div role="status">{previewed?.preview.captures === 0 && <Note title="No captures match." />}</div>
      {previewed && previewed.preview.captures > 0 && <Confirmation key={previewed.token} previewed={previewed} />}
    </>
  );
}

function Confirmation({ previewed: { preview, token, selection } }: { previewed: Previewed }) {
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const heading = useRef<HTMLHeadingElement>(null);
  // Moves the focus to the preview, so that a screen reader announces it.
  useEffect(() => heading.current?.focus(), []);
  const wanted = `delete ${preview.captures}`;
  const go = async () => {
    try {
      const job = await post<Job>(apiPath('deletes'), { selection, token });
      navigate(pathTo.job(job.id));
    } catch (failure) {
      setError(asApiError(failure));
    }
  };
  return (
    <section class="preview" aria-labelledby="preview">
      <h2 id="preview" tabIndex={-1} ref={heading}>
        {counted(preview.captures, 'capture')} would be deleted
      </h2>
      <Consequences preview={preview} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === wanted) go();
        }}
      >
        <div class="field">
          <label for="confirm">
            Type <code>{wanted}</code> to confirm
          </label>
          <input
            id="confirm"
            type="text"
            autocomplete="off"
            spellcheck={false}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
        {error && <FaultNotice error={error} />}
        <button type="submit" class="danger" disabled={typed.trim() !== wanted}>
          Delete {counted(preview.captures, 'capture')}
        </button>
      </form>
    </section>
  );
}

function Consequences({ preview }: { preview: DeletePreview }) {
  return (
    <>
      <ul class="consequences">
        <li>
          {preview.contents === 0
            ? 'No contents would be deleted, because other captures share all of them.'
            : `${counted(preview.contents, 'content')} (${formatBytes(preview.contentBytes)}) would be deleted with them, because no other capture refers to ${preview.contents === 1 ? 'it' : 'them'}.`}
        </li>
        {preview.contentsKept > 0 && (
          <li>
            {counted(preview.contentsKept, 'content')} {preview.contentsKept === 1 ? 'stays' : 'stay'}, because other
            captures share {preview.contentsKept === 1 ? 'it' : 'them'}.
          </li>
        )}
        <li>No other capture loses its content. The bytes stay on disk until the archive is compacted.</li>
      </ul>
      <details open>
        <summary>Some of the addresses</summary>
        <ul class="examples">
          {preview.examples.map((url, index) => (
            <li key={index}>
              {url}
              {preview.exampleCaptures[index]! > 1 && (
                <span class="muted"> ({counted(preview.exampleCaptures[index]!, 'capture')})</span>
              )}
            </li>
          ))}
          {preview.addresses > preview.examples.length && (
            <li class="muted">
              and {counted(preview.addresses - preview.examples.length, 'more address', 'more addresses')}
            </li>
          )}
        </ul>
      </details>
    </>
  );
}
