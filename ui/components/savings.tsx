/**
 * What deduplication and compression save, as three bars on one scale: as captured, without what deduplication saves,
 * as it lies on disk. While an archive is so small that its records are larger than its pages, a sentence says why
 * instead.
 */
import type { Stats } from '../api/replies.ts';
import { formatBytes, formatPercent } from '../app/wording.ts';

export function Savings({ stats }: { stats: Stats }) {
  const { payloadBytes, storedPayloadBytes, storedBytes, savedByDeduplicationBytes, savedByCompressionBytes } = stats;
  if (storedBytes > payloadBytes) return <SmallArchive stats={stats} />;
  const most = Math.max(payloadBytes, 1);
  return (
    <figure class="savings">
      <figcaption class="unseen">What deduplication and compression save</figcaption>
      <ol>
        <Bar label="As captured" bytes={payloadBytes} most={most} shade={1} />
        <Bar
          label="Deduplicated"
          bytes={storedPayloadBytes}
          most={most}
          shade={2}
          note={`deduplication saves ${formatBytes(savedByDeduplicationBytes)}, ${formatPercent(savedByDeduplicationBytes, payloadBytes)}`}
        />
        <Bar
          label="On disk"
          bytes={storedBytes}
          most={most}
          shade={3}
          note={
            savedByCompressionBytes < 0
              ? `the heads of records take ${formatBytes(-savedByCompressionBytes)} more than compression saves`
              : `compression saves ${formatBytes(savedByCompressionBytes)} more, headers included`
          }
        />
      </ol>
      {stats.deadBytes > 0 && (
        <p class="muted">
          {formatBytes(stats.deadBytes)} on disk belong to deleted captures; compacting the archive frees them.
        </p>
      )}
    </figure>
  );
}

function SmallArchive({ stats }: { stats: Stats }) {
  return (
    <p class="aside">
      The pages have {formatBytes(stats.payloadBytes)}; on disk they take {formatBytes(stats.storedBytes)}. Every
      capture is kept with its request, its headers and the time it was made. In a small archive these take more room
      than the pages. With more pages, and with pages that are captured again, the archive saves room.
    </p>
  );
}

type BarProperties = { label: string; bytes: number; most: number; shade: 1 | 2 | 3; note?: string };

function Bar({ label, bytes, most, shade, note }: BarProperties) {
  return (
    <li class="saving">
      <span class="saving-label">{label}</span>
      <span class="saving-bytes">{formatBytes(bytes)}</span>
      <span class="saving-track" aria-hidden="true">
        <span class={`saving-bar shade-${shade}`} style={{ width: `${Math.max(0.5, (100 * bytes) / most)}%` }} />
      </span>
      <span class="saving-note muted">{note ?? 'every capture with its own copy'}</span>
    </li>
  );
}
