/** Makes form fields from a JSON schema. Property names become labels, and descriptions become hints. */
import { useId } from 'preact/hooks';
import type { Schema } from './form-schema.ts';
import { choicesOf, defaultsOf, fieldKindOf, type Value, type Values } from './schema-values.ts';

type FieldsProperties = { readonly schema: Schema; readonly values: Values; onChange(values: Values): void };

export function SchemaFields({ schema, values, onChange }: FieldsProperties) {
  const entries = Object.entries(schema.properties ?? {}).filter(([, field]) => fieldKindOf(field) !== 'none');
  const required = entries.filter(([name]) => schema.required?.includes(name));
  const optional = entries.filter(([name]) => !schema.required?.includes(name));
  return (
    <>
      {[...required, ...optional].map(([name, field]) => (
        <Field
          key={name}
          name={name}
          schema={field}
          isRequired={schema.required?.includes(name) ?? false}
          value={values[name]}
          onChange={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
    </>
  );
}

type FieldProperties = {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly value: Value | undefined;
  onChange(value: Value): void;
};

function Field(properties: FieldProperties) {
  const { name, schema, isRequired, value, onChange } = properties;
  const id = useId();
  const kind = fieldKindOf(schema);
  const label = schema.title ?? labelOf(name);
  if (kind === 'group') {
    return (
      <fieldset class="group columns">
        <legend>{label}</legend>
        {schema.description && <p class="hint">{schema.description}</p>}
        <SchemaFields
          schema={schema}
          values={typeof value === 'object' ? value : defaultsOf(schema)}
          onChange={onChange}
        />
      </fieldset>
    );
  }
  const hint = schema.description ? `${id}-hint` : undefined;
  if (kind === 'switch') {
    return (
      <div class="field switch">
        <label>
          <input
            type="checkbox"
            checked={value === true}
            aria-describedby={hint}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
          {label}
        </label>
        {hint && (
          <p id={hint} class="hint">
            {schema.description}
          </p>
        )}
      </div>
    );
  }
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isRequired && <span class="muted"> (required)</span>}
      </label>
      <Control {...properties} id={id} hint={hint} />
      {(hint || kind === 'lines') && (
        <p id={hint} class="hint">
          {schema.description} {kind === 'lines' && 'One per line.'}
        </p>
      )}
    </div>
  );
}

type ControlProperties = FieldProperties & { readonly id: string; readonly hint: string | undefined };

function Control({ schema, isRequired, value, onChange, id, hint }: ControlProperties) {
  const text = typeof value === 'string' ? value : '';
  const shared = { id, 'aria-describedby': hint, required: isRequired, value: text };
  const onInput = (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }) =>
    onChange(event.currentTarget.value);
  switch (fieldKindOf(schema)) {
    case 'lines':
      return <textarea {...shared} rows={3} spellcheck={false} onInput={onInput} />;
    case 'choice':
      return (
        <select {...shared} onInput={onInput}>
          {!isRequired && schema.default === undefined && <option value="">{schema.unset ?? 'default'}</option>}
          {choicesOf(schema).map((choice) => (
            <option key={choice} value={choice}>
              {schema.names?.[choice] ?? choice}
            </option>
          ))}
        </select>
      );
    case 'number':
      return (
        <input
          {...shared}
          type="number"
          min={schema.minimum === undefined ? undefined : schema.minimum / (schema.unit ?? 1)}
          step={schema.unit ? 'any' : 1}
          onInput={onInput}
        />
      );
    default:
      return <input {...shared} type="text" spellcheck={false} autocapitalize="off" onInput={onInput} />;
  }
}

const LABELS: Readonly<Record<string, string>> = {
  from: 'Captured from',
  to: 'Captured until',
  key: 'Content key',
  mime: 'Media type',
  prefix: 'Address begins with',
  url: 'Address',
  depth: 'Check',
  selection: 'Which captures',
  status: 'HTTP status',
  volume: 'Volume',
};

/** The label of a property: `In place` for `inPlace`. */
function labelOf(name: string): string {
  const spaced = name.replace(
    /([a-z0-9])([A-Z])/g,
    (_, before: string, after: string) => `${before} ${after.toLowerCase()}`,
  );
  return LABELS[name] ?? spaced.charAt(0).toUpperCase() + spaced.slice(1);
}
