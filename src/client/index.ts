/** client: streams of a served archive, for other programs. Uses fetch, runs in Node and browsers, imports nothing. */
export {
  ArchiveStream,
  type ArchiveStreamOptions,
  StreamBrokenError,
  type StreamPart,
  type StreamQuestion,
  StreamRefusedError,
} from './archive-stream.ts';
