/**
 * client: streams of a served archive, for programs that are elsewhere. Plain fetch; runs in Node and in browsers, and
 * imports nothing.
 */
export {
  ArchiveStream,
  type ArchiveStreamOptions,
  StreamBrokenError,
  type StreamPart,
  type StreamQuestion,
  StreamRefusedError,
} from './archive-stream.ts';
