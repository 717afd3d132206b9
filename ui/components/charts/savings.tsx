/**
 * The savings of deduplication and compression, as three bars on one scale: bytes as captured, after deduplication, and
 * on disk. If a small archive takes more room than its pages, a sentence explains why instead.
 */
import type { Stats } from '../../api/replies.ts';
import { formatBytes, formatPercent } from '../../app/wording.ts';

export function Savings({ stats }: { stats: Stats }) {
  const { payloadBytes, storedPayloadBytes, storedBytes, savedByDeduplicationBytes, savedByCompressionBytes } = stats;
  if (storedBytes > payloadBytes) return <SmallArchive stats={stats} />;
  const most = Math.max(payloadBytes, 1);
  return (
    <figure class="savings">
      <figcaption class="unseen">Savings by deduplication and compression</figcaption>
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
              ? `record headers take ${formatBytes(-savedByCompressionBytes)} more than compression saves`
              : `compression saves ${formatBytes(savedByCompressionBytes)} more, including record headers`
          }
        />
      </ol>
      {stats.deadBytes > 0 && (
        <p class="muted">
          {formatBytes(stats.deadBytes)} on disk belong to deleted captures. Compact the archive to free them.
        </p>
      )}
    </figure>
  );
}

function SmallArchive({ stats }: { stats: Stats }) {
  return (
    <p class="aside">
      The pages have {formatBytes(stats.payloadBytes)}; on disk they take {formatBytes(stats.storedBytes)}. Every
      capture is stored with its request, its headers and its time. In a small archive these take more room than the
      pages. The archive saves room when it has more pages, or captures pages again.
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
      <span class="saving-note muted">{note ?? 'if every capture had its own copy'}</span>
    </li>
  );
}
