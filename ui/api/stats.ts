/**
 * The statistics of the archive. The server replies with cached figures. If a job ended after they were computed, new
 * figures are requested, and the old ones are shown until the new ones arrive.
 */
import type { Job, Stats } from './replies.ts';
import { type List, type Loaded, useReply } from './request.ts';

export function useStats(): Loaded<Stats> {
  const cached = useReply<Stats>('/api/stats');
  const jobs = useReply<List<Job>>('/api/jobs');
  const ends = jobs.reply?.items.map(({ endedAt = '' }) => endedAt) ?? [];
  const lastEnd = ends.reduce((latest, end) => (end > latest ? end : latest), '');
  const isBehind = cached.reply !== undefined && Date.parse(cached.reply.computedAt) < Date.parse(lastEnd);
  const fresh = useReply<Stats>(isBehind ? '/api/stats?fresh=true' : undefined);
  // Do not show an archive as empty if the new figures may say otherwise.
  const isWaiting = isBehind && fresh.isLoading && cached.reply?.captures === 0;
  return { ...cached, reply: isWaiting ? undefined : (fresh.reply ?? cached.reply) };
}
