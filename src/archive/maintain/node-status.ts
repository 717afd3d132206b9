/**
 * The nodes of an archive: its volumes, each with its room and with what it does at present. The activity is that of
 * this process, which is the only one that has the archive open.
 */
import { isPartVolume, type RequestCounts, S3Volume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { NodeActivity, NodeFigures } from '../segment/node-activity.ts';
import { silenceOf } from './readiness.ts';
import { listVolumes, type VolumeStatus } from './volume-admin.ts';

/** `streaming`: read from one end to the other, by a stream, a check or a compaction, or for a large content. */
export type NodeState = 'idle' | 'storing' | 'streaming' | 'rebalancing' | 'read-only' | 'missing';

export type NodeStatus = VolumeStatus &
  NodeFigures & {
    /** The first of these that is true: missing, rebalancing, storing, streaming, read-only, idle. */
    readonly state: NodeState;
    /** Of a bucket: the requests to its server since the volume was opened. */
    readonly bucket: RequestCounts | undefined;
  };

export async function listNodes(archive: OpenedArchive): Promise<NodeStatus[]> {
  const volumes = await listVolumes(archive);
  return Promise.all(volumes.map((volume) => nodeOf(archive, volume)));
}

async function nodeOf({ volumes, nodes }: OpenedArchive, status: VolumeStatus): Promise<NodeStatus> {
  const volume = volumes.find(status.name);
  // A bucket does not say how much room it has, so it is asked for an object.
  const failure = status.failure ?? (volume && isPartVolume(volume) ? await silenceOf(volume) : undefined);
  const activity = nodes.of(status.name);
  return {
    ...status,
    failure,
    state: failure ? 'missing' : stateOf(status, activity),
    ...activity.figures(),
    bucket: volume instanceof S3Volume ? volume.counts() : undefined,
  };
}

function stateOf({ writable }: VolumeStatus, activity: NodeActivity): NodeState {
  if (activity.isMoving) return 'rebalancing';
  if (activity.isStoring) return 'storing';
  if (activity.isStreaming) return 'streaming';
  return writable ? 'idle' : 'read-only';
}
