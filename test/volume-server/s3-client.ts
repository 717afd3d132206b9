/** The AWS SDK as a client of a volume server in tests. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import type { VolumeKeyFile, VolumeServerProcess } from './volume-server-process.ts';

export function s3Client(
  { endpoint, accessKeyId, secretAccessKey }: Pick<VolumeServerProcess, 'endpoint'> & VolumeKeyFile,
  config: S3ClientConfig = {},
): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
    ...config,
  });
}

/** The code of the error with which the work fails: `PreconditionFailed`, or the name that the SDK makes of a 404. */
export async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as { name: string }).name;
  }
  return 'none';
}
