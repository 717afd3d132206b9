/** The headers of two captures, name by name. Headers that differ are marked and come first. */
import type { CaptureDetail } from '../../api/replies.ts';

type Row = { readonly name: string; readonly before: string; readonly after: string };

export function HeadTable({ before, after }: { before: CaptureDetail; after: CaptureDetail }) {
  return (
    <>
      <Heads
        title="HTTP headers"
        rows={rowsOf(
          [['status line', before.httpStatusLine ?? ''], ...(before.httpFields ?? [])],
          [['status line', after.httpStatusLine ?? ''], ...(after.httpFields ?? [])],
        )}
      />
      <Heads title="WARC headers" rows={rowsOf(before.warcFields, after.warcFields)} />
    </>
  );
}

function Heads({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <table class="heads stacking">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, before, after }) => (
          <tr key={name} class={before === after ? undefined : 'differs'}>
            <th scope="row">
              {name}
              {before !== after && <span class="unseen"> (differs)</span>}
            </th>
            <td data-label="Before">{before === '' ? '\u2013' : before}</td>
            <td data-label="After">{after === '' ? '\u2013' : after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Fields = readonly (readonly [string, string])[];

function rowsOf(before: Fields, after: Fields): Row[] {
  const names = new Map([...before, ...after].map(([name]) => [name.toLowerCase(), name]));
  const textOf = (fields: Fields, key: string) =>
    fields
      .filter(([name]) => name.toLowerCase() === key)
      .map(([, value]) => value)
      .join('; ');
  const rows = [...names].map(([key, name]) => ({ name, before: textOf(before, key), after: textOf(after, key) }));
  return [...rows.filter((row) => row.before !== row.after), ...rows.filter((row) => row.before === row.after)];
}
