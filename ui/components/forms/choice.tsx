/** Radio buttons that look like one bar. */
import { useId } from 'preact/hooks';

type ChoiceProperties<Value extends string> = {
  readonly label: string;
  readonly options: readonly (readonly [Value, string])[];
  readonly chosen: Value;
  onChoose(value: Value): void;
};

export function Choice<Value extends string>({ label, options, chosen, onChoose }: ChoiceProperties<Value>) {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map(([value, text]) => (
        <label key={value}>
          <input type="radio" name={name} value={value} checked={value === chosen} onChange={() => onChoose(value)} />
          <span>{text}</span>
        </label>
      ))}
    </fieldset>
  );
}
