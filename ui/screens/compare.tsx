/** Two captures side by side: the changes in text, source and headers, and both pages as they looked. */
import { useState } from 'preact/hooks';
import { apiPath } from '../api/client.ts';
import type { CaptureDetail, CaptureText } from '../api/replies.ts';
import { useInfo, useReply } from '../api/request.ts';
import { useTitle } from '../app/navigation.ts';
import { pathTo } from '../app/route.ts';
import { formatBytes, formatTime, kindOfContent, shownUrl } from '../app/wording.ts';
import { AddressTitle } from '../components/address-title.tsx';
import { DiffView, type Layout } from '../components/captures/diff-view.tsx';
import { HeadTable } from '../components/captures/head-table.tsx';
import { Choice } from '../components/forms/choice.tsx';
import { FaultNotice, Note, Waiting } from '../components/notice.tsx';
import { ReplayFrame } from '../components/replay/replay-frame.tsx';
import { useDiff } from '../diff-request.ts';

type What = 'text' | 'source' | 'headers' | 'pages';

const TEXT_OPTIONS: readonly (readonly [What, string])[] = [
  ['text', 'Text'],
  ['source', 'Source'],
];
const OPTIONS: readonly (readonly [What, string])[] = [
  ['headers', 'Headers'],
  ['pages', 'Pages'],
];

/** Media types of contents that can be compared line by line. */
const TEXTUAL = /^text\/|[/+](?:x?html|xml|json|javascript|ecmascript|pdf)\b/i;

const LIMIT_BYTES = 2_000_000;

export function CompareScreen({ a, b }: { a: string; b: string }) {
  const before = useReply<CaptureDetail>(a ? apiPath(`captures/${encodeURIComponent(a)}`) : undefined);
  const after = useReply<CaptureDetail>(b ? apiPath(`captures/${encodeURIComponent(b)}`) : undefined);
  useTitle(before.reply ? `Changes of ${shownUrl(before.reply.url)}` : 'Compare captures');
  const error = before.error ?? after.error;
  return (
    <>
      <AddressTitle kicker="Changes of" address={before.reply ? shownUrl(before.reply.url) : 'Two captures'} />
      {error && <FaultNotice error={error} />}
      {(a === '' || b === '') && (
        <Note title="Choose two captures to compare.">
          <p>Find an address, mark two of its captures, and press Compare.</p>
        </Note>
      )}
      {(before.isLoading || after.isLoading) && <Waiting what="Fetching both captures" />}
      {before.reply && after.reply && <Pair before={before.reply} after={after.reply} />}
    </>
  );
}

function Pair({ before, after }: { before: CaptureDetail; after: CaptureDetail }) {
  const isTextual = [before, after].every(({ mime }) => TEXTUAL.test(mime));
  const isPdf = [before, after].some(({ mime }) => /\bpdf\b/i.test(mime));
  const textOptions = isTextual ? TEXT_OPTIONS.slice(0, isPdf ? 1 : 2) : [];
  const [what, setWhat] = useState<What>(isTextual ? 'text' : 'pages');
  const [layout, setLayout] = useState<Layout>(() => (matchMedia('(max-width: 760px)').matches ? 'inline' : 'beside'));
  const isSame = before.contentKey !== null && before.contentKey === after.contentKey;
  return (
    <>
      <div class="pair">
        <Side label="Before" capture={before} />
        <Side label="After" capture={after} />
      </div>
      {isSame && (
        <Note title="Both captures have the same content, byte for byte.">
          <p>The archive stores it once. Only the headers can differ.</p>
        </Note>
      )}
      <div class="choices">
        <Choice<What> label="Compare" options={[...textOptions, ...OPTIONS]} chosen={what} onChoose={setWhat} />
        {(what === 'text' || what === 'source') && (
          <Choice<Layout>
            label="Layout"
            options={[
              ['beside', 'Side by side'],
              ['inline', 'Inline'],
            ]}
            chosen={layout}
            onChoose={setLayout}
          />
        )}
      </div>
      {what === 'headers' && <HeadTable before={before} after={after} />}
      {what === 'pages' && <Pages before={before} after={after} />}
      {(what === 'text' || what === 'source') && (
        <TextComparison key={what} what={what} layout={layout} before={before} after={after} />
      )}
    </>
  );
}

function Side({ label, capture }: { label: string; capture: CaptureDetail }) {
  return (
    <p class="pair-side">
      <span class="kicker">{label}</span>
      <a href={pathTo.frame(capture.timestamp, capture.url)}>{formatTime(capture.time)}</a>
      <span class="muted">
        {[
          capture.status || '',
          kindOfContent(capture.mime),
          capture.payloadBytes === null ? '' : formatBytes(capture.payloadBytes),
        ]
          .filter(Boolean)
          .join(', ')}
      </span>
    </p>
  );
}

type TextProperties = { what: 'text' | 'source'; layout: Layout; before: CaptureDetail; after: CaptureDetail };

function TextComparison({ what, layout, before, after }: TextProperties) {
  const pathOf = ({ id }: CaptureDetail) =>
    apiPath(`captures/${encodeURIComponent(id)}/${what}`, { limit: LIMIT_BYTES });
  const old = useReply<CaptureText>(pathOf(before));
  const fresh = useReply<CaptureText>(pathOf(after));
  const comparison = useDiff(old.reply?.text, fresh.reply?.text);
  const error = old.error ?? fresh.error;
  if (error) return <FaultNotice error={error} />;
  if (comparison.state === 'working') return <Waiting what="Comparing" />;
  if (comparison.state === 'failed') {
    return (
      <Note title="These captures are too large or too different to compare here.">
        <p>Look at both pages, or compare their text instead of their source.</p>
      </Note>
    );
  }
  return (
    <>
      {(old.reply?.truncated || fresh.reply?.truncated) && (
        <p class="muted">Only the first {formatBytes(LIMIT_BYTES)} of each capture are compared.</p>
      )}
      <DiffView result={comparison.result} layout={layout} what={what} />
    </>
  );
}

function Pages({ before, after }: { before: CaptureDetail; after: CaptureDetail }) {
  const info = useInfo();
  if (!info) return <Waiting what="Opening both pages" />;
  return (
    <div class="pages">
      {[before, after].map(({ id, timestamp, url, time }) => (
        <ReplayFrame
          key={id}
          replayOrigin={info.replayOrigin}
          timestamp={timestamp}
          url={url}
          title={`Archived page of ${formatTime(time)}`}
        />
      ))}
    </div>
  );
}
