import { after, before } from 'node:test';
import { openS3Volume, type S3Volume } from '../../src/volume/index.ts';
import { type PartVolumeTraits, partVolumeContract } from './part-volume.ts';
import { BUCKET, noVersitygw, type S3Server, startS3rver, startVersitygw, startVolumeServer } from './s3-servers.ts';

function contractOn(
  title: string,
  start: () => Promise<S3Server>,
  traits: PartVolumeTraits,
  skip: string | false = false,
): void {
  let server: S3Server | undefined;
  let rules = 0;
  if (!skip) before(async () => void (server = await start()));
  after(async () => await server?.close());
  partVolumeContract(
    title,
    async () => {
      const { endpoint, credentials } = server!;
      const url = `s3://${BUCKET}/${title}/${++rules}`;
      const opened: S3Volume[] = [];
      const reopen = async () => {
        const volume = await openS3Volume('far', url, {
          endpoint,
          credentials,
          clock: Date.now,
          writable: true,
          pageNames: traits.hasPages === false ? undefined : 25,
        });
        opened.push(volume);
        return volume;
      };
      return {
        volume: await reopen(),
        reopen,
        dispose: async () => {
          await Promise.all(opened.map((volume) => volume.close()));
        },
      };
    },
    traits,
    skip,
  );
}

contractOn('volume-server', startVolumeServer, { manyObjects: 60 });
contractOn('versitygw', startVersitygw, { manyObjects: 60 }, noVersitygw);
// Its pages need a cipher that is no longer there.
contractOn('s3rver', startS3rver, {
  manyObjects: 40,
  hasPages: false,
  answersRangesOfEmpty: false,
  sortsNames: false,
});
