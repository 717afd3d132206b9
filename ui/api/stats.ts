/**
 * What the archive holds. The server counts in the background and answers with what it counted last; when a job has
 * ended since, it is asked to count anew, and the older figures stand until the newer come.
 */
import type { Job, Stats } from './replies.ts';
import { type List, type Loaded, useReply } from './request.ts';

export function useStats(): Loaded<Stats> {
  const standing = useReply<Stats>('/api/stats');
  const jobs = useReply<List<Job>>('/api/jobs');
  const ends = jobs.reply?.items.map(({ endedAt = '' }) => endedAt) ?? [];
  const lastEnd = ends.reduce((latest, end) => (end > latest ? end : latest), '');
  const isBehind = standing.reply !== undefined && Date.parse(standing.reply.computedAt) < Date.parse(lastEnd);
  const fresh = useReply<Stats>(isBehind ? '/api/stats?fresh=true' : undefined);
  // An archive that was empty is worth waiting for: it may not be any more.
  const isWaiting = isBehind && fresh.isLoading && standing.reply?.captures === 0;
  return { ...standing, reply: isWaiting ? undefined : (fresh.reply ?? standing.reply) };
}
