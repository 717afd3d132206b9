/**
 * A comparison as a table of lines: both versions side by side, or one under the other. Signs and words repeat what the
 * colours show.
 */
import { useRef, useState } from 'preact/hooks';
import { counted } from '../../app/wording.ts';
import type { DiffLine, DiffPart, DiffResult, DiffRow } from '../../diff-rows.ts';

export type Layout = 'beside' | 'inline';

const ROWS_SHOWN = 1000;
const LINE_SHOWN = 4000;

export function DiffView({ result, layout, what }: { result: DiffResult; layout: Layout; what: 'text' | 'source' }) {
  const table = useRef<HTMLTableElement>(null);
  const [at, setAt] = useState(-1);
  const [most, setMost] = useState(ROWS_SHOWN);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  if (result.changes === 0) {
    return <p class="lead">The {what === 'text' ? 'text is' : 'source is'} the same in both.</p>;
  }
  const go = (step: number) => {
    const next = (at + step + result.changes) % result.changes;
    const row = table.current?.querySelector<HTMLElement>(`[data-change="${next}"]`);
    setAt(next);
    row?.scrollIntoView({ block: 'center' });
    row?.focus({ preventScroll: true });
  };
  const rows = result.rows.flatMap((row, index) =>
    row.kind === 'folded' && unfolded.has(index) ? row.rows.map((one) => ({ row: one, index })) : [{ row, index }],
  );
  return (
    <>
      <div class="diff-tools">
        <p role="status">
          {counted(result.changes, 'change')}: {counted(result.linesRemoved, 'line')} removed,{' '}
          {counted(result.linesAdded, 'line')} added
          {at >= 0 && `; at change ${at + 1}`}
          {result.isRough && '; compared roughly, because the captures differ too much'}
        </p>
        <div>
          <button type="button" data-shortcut="p" onClick={() => go(at < 0 ? 0 : -1)}>
            Previous change
          </button>
          <button type="button" data-shortcut="n" onClick={() => go(1)}>
            Next change
          </button>
        </div>
      </div>
      <div class="diff-scroll">
        <table class={`diff ${layout} ${what}`} ref={table}>
          <caption class="unseen">Changes of the {what}</caption>
          <colgroup>
            <col class="number-column" />
            <col class={layout === 'beside' ? undefined : 'number-column'} />
            <col class={layout === 'beside' ? 'number-column' : undefined} />
            {layout === 'beside' && <col />}
          </colgroup>
          <thead class="unseen">
            <tr>
              {layout === 'beside' ? (
                <>
                  <th scope="col">Line before</th>
                  <th scope="col">Before</th>
                  <th scope="col">Line after</th>
                  <th scope="col">After</th>
                </>
              ) : (
                <>
                  <th scope="col">Line before</th>
                  <th scope="col">Line after</th>
                  <th scope="col">Text</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, most).map(({ row, index }, place) => {
              const isFirst = row.kind === 'changed' && changeOf(rows[place - 1]?.row) !== row.change;
              const unfold = () => setUnfolded(new Set([...unfolded, index]));
              const View = layout === 'beside' ? RowBeside : RowInline;
              return row.kind === 'folded' ? (
                <Folded
                  key={`f${index}`}
                  count={row.rows.length}
                  columns={layout === 'beside' ? 4 : 3}
                  onOpen={unfold}
                />
              ) : (
                <View key={keyOf(row)} row={row} isFirst={isFirst} isAt={row.kind === 'changed' && row.change === at} />
              );
            })}
          </tbody>
        </table>
      </div>
      {rows.length > most && (
        <button type="button" class="more" onClick={() => setMost(most + ROWS_SHOWN)}>
          Show more lines
        </button>
      )}
    </>
  );
}

type LineRow = Exclude<DiffRow, { kind: 'folded' }>;
type RowProperties = { readonly row: LineRow; readonly isFirst: boolean; readonly isAt: boolean };

function changeOf(row: DiffRow | undefined): number | undefined {
  return row?.kind === 'changed' ? row.change : undefined;
}

function keyOf({ before, after }: LineRow): string {
  return `${before?.number ?? ''}:${after?.number ?? ''}`;
}

/** The attributes that make the first row of a change a target of the Next and Previous buttons. */
function jump({ row, isFirst, isAt }: RowProperties) {
  return {
    class: isAt ? 'at' : undefined,
    ...(row.kind === 'changed' && isFirst && { 'data-change': row.change, tabIndex: -1 }),
  };
}

function RowBeside(properties: RowProperties) {
  const { row } = properties;
  return (
    <tr {...jump(properties)}>
      <Side line={row.before} sign={row.kind === 'changed' ? 'removed' : 'same'} />
      <Side line={row.after} sign={row.kind === 'changed' ? 'added' : 'same'} />
    </tr>
  );
}

function Side({ line, sign }: { line: DiffLine | undefined; sign: 'same' | 'removed' | 'added' }) {
  if (!line) return <td class="nothing" colSpan={2} />;
  return (
    <>
      <td class={`line-number ${sign}`}>{line.number}</td>
      <td class={`line ${sign}`}>
        <LineText parts={line.parts} sign={sign} />
      </td>
    </>
  );
}

function RowInline(properties: RowProperties) {
  const { row } = properties;
  if (row.kind === 'same') {
    return (
      <tr>
        <td class="line-number">{row.before.number}</td>
        <td class="line-number">{row.after.number}</td>
        <td class="line">
          <LineText parts={row.before.parts} sign="same" />
        </td>
      </tr>
    );
  }
  return (
    <>
      {row.before && (
        <tr {...jump(properties)}>
          <td class="line-number removed">{row.before.number}</td>
          <td class="line-number removed" />
          <td class="line removed">
            <LineText parts={row.before.parts} sign="removed" />
          </td>
        </tr>
      )}
      {row.after && (
        <tr {...jump({ ...properties, isFirst: properties.isFirst && !row.before })}>
          <td class="line-number added" />
          <td class="line-number added">{row.after.number}</td>
          <td class="line added">
            <LineText parts={row.after.parts} sign="added" />
          </td>
        </tr>
      )}
    </>
  );
}

function LineText({ parts, sign }: { parts: readonly DiffPart[]; sign: 'same' | 'removed' | 'added' }) {
  const Changed = sign === 'removed' ? 'del' : 'ins';
  let left = LINE_SHOWN;
  return (
    <>
      {sign !== 'same' && <span class="sign">{sign === 'removed' ? '\u2212' : '+'}</span>}
      {parts.map(({ text, isChanged }, index) => {
        const shown = text.length > left ? `${text.slice(0, left)}\u2026` : text;
        left = Math.max(0, left - text.length);
        return isChanged && sign !== 'same' ? <Changed key={index}>{shown}</Changed> : <span key={index}>{shown}</span>;
      })}
    </>
  );
}

function Folded({ count, columns, onOpen }: { count: number; columns: number; onOpen: () => void }) {
  return (
    <tr class="folded">
      <td colSpan={columns}>
        <button type="button" class="plain" onClick={onOpen}>
          Show {counted(count, 'unchanged line')}
        </button>
      </td>
    </tr>
  );
}
