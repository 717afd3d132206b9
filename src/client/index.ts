/**
 * client: streams of a served archive, and contents into it and out of it, for other programs. Uses fetch, runs in Node
 * and browsers, imports nothing.
 */
export {
  ArchiveStream,
  type ArchiveStreamOptions,
  StreamBrokenError,
  type StreamPart,
  type StreamQuestion,
  StreamRefusedError,
} from './archive-stream.ts';
export {
  type CaptureToStore,
  type ContentSource,
  ContentsClient,
  type ContentsClientOptions,
  type RecordsReply,
  type RecordsReport,
  type StoreBatchOptions,
  type StoreBatchOutcome,
} from './contents-client.ts';
export { RequestRefusedError, ServerUnreachableError } from './server-request.ts';
