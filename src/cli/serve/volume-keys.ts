/** `pinakes volume key`: adds, lists and removes the keys of a volume server. */
import { randomBytes } from 'node:crypto';
import { badArgument, toBase32 } from '../../base/index.ts';
import { addVolumeKey, listVolumeKeys, removeVolumeKey } from '../../server/index.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { alignedRows, printable } from '../terminal.ts';

type KeyOptions = { readonly dir: string; readonly json?: boolean };

export async function volumeKeyAdd(
  { terminal }: CommandContext,
  name: string,
  { dir, prefix, rights, json }: KeyOptions & { readonly prefix: string; readonly rights: string },
): Promise<number> {
  if (rights !== 'read' && rights !== 'write') throw badArgument(rights, '--rights is read or write');
  const key = await addVolumeKey(dir, {
    name,
    prefix,
    rights,
    accessKeyId: toBase32(randomBytes(12)),
    secret: randomBytes(30).toString('base64url'),
  });
  if (json) await terminal.json(key);
  else {
    await terminal.line(`access key id      ${key.accessKeyId}`);
    await terminal.line(`secret access key  ${key.secret}`);
    terminal.say('The secret is not shown again. The server keeps it in a file that only its own user can read.');
  }
  return EXIT_FINE;
}

export async function volumeKeyLs({ terminal }: CommandContext, { dir, json }: KeyOptions): Promise<number> {
  const keys = await listVolumeKeys(dir);
  if (json) for (const key of keys) await terminal.json(key);
  else {
    const rows = [
      ['name', 'access key id', 'rights', 'prefix'],
      ...keys.map(({ name, accessKeyId, rights, bucket, prefix }) => [
        name,
        accessKeyId,
        rights,
        `${bucket}/${prefix}`,
      ]),
    ];
    for (const line of alignedRows(rows, ['left', 'left', 'left', 'left'])) await terminal.line(printable(line));
  }
  return EXIT_FINE;
}

export async function volumeKeyRm(
  { terminal }: CommandContext,
  name: string,
  { dir, json }: KeyOptions,
): Promise<number> {
  await removeVolumeKey(dir, name);
  if (json) await terminal.json({ name });
  else await terminal.line(`removed key ${name}`);
  return EXIT_FINE;
}
