/** The form that starts a job of a kind. Its fields come from the OpenAPI document of the server. */
import { useMemo, useState } from 'preact/hooks';
import { type ApiError, apiPath, post } from '../../api/client.ts';
import type { Job, Stats } from '../../api/replies.ts';
import { asApiError, useReply } from '../../api/request.ts';
import { navigate } from '../../app/navigation.ts';
import { pathTo } from '../../app/route.ts';
import type { Schema } from '../forms/form-schema.ts';
import { SchemaFields } from '../forms/schema-fields.tsx';
import { defaultsOf, filledIn, type Values } from '../forms/schema-values.ts';
import { FaultNotice, Waiting } from '../notice.tsx';
import { formFields, requiredFields } from './job-fields.ts';
import { recordOf } from './job-report.ts';

const VERBS: Readonly<Record<string, string>> = {
  add: 'Add these files',
  compact: 'Compact now',
  crawl: 'Start the crawl',
  export: 'Export',
  rebuild: 'Rebuild the catalog',
  verify: 'Verify now',
};

/** Fields that only other screens fill in. */
const HIDDEN_FIELDS = ['upload', 'token'];

export function JobForm({ kind }: { kind: string }) {
  const { reply: document, error, isLoading } = useReply<unknown>('/api/openapi.json');
  if (error) return <FaultNotice error={error} />;
  if (isLoading) return <Waiting what="Fetching the settings" />;
  return <KnownForm kind={kind} document={document} />;
}

function KnownForm({ kind, document }: { kind: string; document: unknown }) {
  const { reply: stats } = useReply<Stats>('/api/stats');
  const { first, rest } = useMemo(() => {
    const collections = stats?.collections.map(({ collection }) => collection);
    return formFields(kind, inputSchemaOf(document, kind), collections);
  }, [kind, document, stats]);
  const [values, setValues] = useState<Values>(() => ({ ...defaultsOf(first), ...defaultsOf(rest) }));
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const [isSending, setIsSending] = useState(false);
  const shown = { ...first, required: [...(first.required ?? []), ...requiredFields(kind, values)] };
  const start = async () => {
    setIsSending(true);
    try {
      const job = await post<Job>(apiPath('jobs'), {
        kind,
        input: { ...filledIn(first, values), ...filledIn(rest, values) },
      });
      navigate(pathTo.job(job.id));
    } catch (failure) {
      setError(asApiError(failure));
      setIsSending(false);
    }
  };
  return (
    <form
      class="job-form"
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <div class="field-grid">
        <SchemaFields schema={shown} values={values} onChange={setValues} />
      </div>
      {Object.keys(rest.properties ?? {}).length > 0 && (
        <details class="more-settings">
          <summary>More settings</summary>
          <div class="field-grid">
            <SchemaFields schema={rest} values={values} onChange={setValues} />
          </div>
        </details>
      )}
      {error && <FaultNotice error={error} />}
      <button type="submit" class="primary" disabled={isSending}>
        {VERBS[kind] ?? 'Start'}
      </button>
    </form>
  );
}

/** The input schema of a job kind: one of the alternatives for the body of POST /api/jobs in the OpenAPI document. */
function inputSchemaOf(document: unknown, kind: string): Schema {
  const paths = recordOf(recordOf(document).paths);
  const body = recordOf(recordOf(recordOf(paths['/api/jobs']).post).requestBody);
  const schema = recordOf(recordOf(recordOf(body.content)['application/json']).schema);
  const alternatives = [schema.anyOf, schema.oneOf, schema].flat().map((one) => recordOf(recordOf(one).properties));
  const mine = alternatives.find((one) => {
    const named = recordOf(one.kind) as Schema;
    return named.const === kind || (named.enum?.length === 1 && named.enum[0] === kind);
  });
  const { properties = {}, ...rest } = (mine?.input ?? {}) as Schema;
  const fields = Object.entries(properties).filter(([name]) => !HIDDEN_FIELDS.includes(name));
  return { ...rest, properties: Object.fromEntries(fields) };
}
