/**
 * Writes WARC files of sample pages for benches: a warcinfo record, then requests and responses, as a crawler would.
 */
import { digestOf, seededIds, seededRandom, utf8 } from '../src/base/index.ts';
import { WarcFileWriter, warcFields } from '../src/warc/index.ts';
import { SamplePages } from './sample-pages.ts';

export type SampleOptions = {
  readonly bytes: number;
  /** The share of responses whose body is already in the file under another URL. */
  readonly duplicates?: number;
  /** Files of other seeds have other pages. */
  readonly seed?: number;
};

export async function writeSampleWarc(
  path: string,
  options: SampleOptions,
): Promise<{ records: number; bytes: number }> {
  const random = seededRandom(2);
  const seed = options.seed ?? 1;
  const id = seededIds(seededRandom(2 + seed));
  const pages = new SamplePages(seed);
  const writer = await WarcFileWriter.create(path, { coding: 'gzip', force: true });
  const info = warcFields([{ name: 'software', value: 'Pinakes bench' }]);
  await writer.write(
    { type: 'warcinfo', recordId: id(), date: '2024-03-01T10:00:00Z', contentType: 'application/warc-fields' },
    info,
  );
  let records = 1;
  const earlier: { head: string; body: string }[] = [];
  for (let number = 0; writer.offset < options.bytes; number++) {
    const page = pages.page(number);
    const isDuplicate = earlier.length > 0 && random() < (options.duplicates ?? 0);
    const content = isDuplicate ? earlier[Math.floor(random() * earlier.length)]! : page;
    if (!isDuplicate && earlier.length < 2000) earlier.push(page);
    const date = new Date(Date.UTC(2024, 2, 1, 10) + number * 100).toISOString();
    const responseId = id();
    const payload = utf8(content.body);
    const url = page.url;
    const request = utf8(
      `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nUser-Agent: bench\r\n\r\n`,
    );
    await writer.write(
      {
        type: 'response',
        recordId: responseId,
        date,
        targetUri: url,
        contentType: 'application/http; msgtype=response',
        payloadDigest: digestOf('sha1', payload),
      },
      Buffer.concat([utf8(content.head), payload]),
    );
    const concurrent = [{ name: 'WARC-Concurrent-To', value: responseId }];
    await writer.write(
      {
        type: 'request',
        recordId: id(),
        date,
        targetUri: url,
        contentType: 'application/http; msgtype=request',
        fields: concurrent,
      },
      request,
    );
    records += 2;
  }
  await writer.finish();
  return { records, bytes: writer.offset };
}
