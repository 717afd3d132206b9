/**
 * Writes ui/api/replies.ts: a type for each named schema of the OpenAPI document, so that the UI and the server cannot
 * disagree about the replies.
 *
 *     node scripts/reply-types.ts
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createArchive, openArchive } from '../src/archive/index.ts';
import { apiDocument } from '../src/server/index.ts';

export const REPLY_TYPES_PATH: string = resolve(import.meta.dirname, '../ui/api/replies.ts');

const LINE_CHARACTERS_MAX = 120;

/** The parts of JSON schema that the document uses. */
type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
};

const LINE_MAX = 120;

/** The text of ui/api/replies.ts. */
export async function replyTypes(): Promise<string> {
  const types = Object.entries(await namedSchemas()).map(
    ([name, schema]) =>
      `${commentOf(schema, '')}${wrapped(`export type ${typeName(name)} =`, typeOf(schema, ''), schema)};\n`,
  );
  const header = '/** Types of the replies of the API. Written by scripts/reply-types.ts; do not edit. */\n';
  return `${header}\n${types.join('\n')}`;
}

/** A long list of texts has a line for each, as the formatter writes it. */
function wrapped(start: string, type: string, { enum: values }: Schema): string {
  if (!values || start.length + type.length + 2 <= LINE_MAX) return `${start} ${type}`;
  return `${start}\n${values.map((value) => `  | '${value}'`).join('\n')}`;
}

async function namedSchemas(): Promise<Readonly<Record<string, Schema>>> {
  const scratch = mkdtempSync(join(tmpdir(), 'pinakes-reply-types-'));
  try {
    const directory = join(scratch, 'archive');
    await createArchive(directory);
    const archive = await openArchive(directory, { clock: () => 0, newId: () => 'id' });
    const document = (await apiDocument(archive, '')) as { components: { schemas: Record<string, Schema> } };
    await archive.close();
    return document.components.schemas;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** `Error` is a global of the language. */
function typeName(name: string): string {
  return name === 'Error' ? 'ErrorReply' : name;
}

function typeOf(schema: Schema, indent: string): string {
  const { $ref, type, anyOf, items, minItems, maxItems, properties, required = [], patternProperties } = schema;
  if ($ref !== undefined) return typeName($ref.slice($ref.lastIndexOf('/') + 1));
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  if (anyOf) return anyOf.map((part) => typeOf(part, indent)).join(' | ');
  if (items) {
    const item = typeOf(items, indent);
    if (minItems !== undefined && minItems === maxItems) return `readonly [${Array(minItems).fill(item).join(', ')}]`;
    return /^(?:\w+|\{.*\})$/s.test(item) ? `readonly ${item}[]` : `readonly (${item})[]`;
  }
  if (patternProperties) {
    const [value] = Object.values(patternProperties);
    return `Readonly<Record<string, ${typeOf(value!, indent)}>>`;
  }
  if (properties) {
    const inner = `${indent}  `;
    const lines = Object.entries(properties).map(([name, property]) => {
      const mark = required.includes(name) ? '' : '?';
      return `${commentOf(property, inner)}${inner}readonly ${name}${mark}: ${typeOf(property, inner)};\n`;
    });
    return `{\n${lines.join('')}${indent}}`;
  }
  if (type === 'integer') return 'number';
  return type ?? 'unknown';
}

function commentOf({ description }: Schema, indent: string): string {
  if (description === undefined) return '';
  const line = `${indent}/** ${description} */`;
  if (line.length <= LINE_CHARACTERS_MAX) return `${line}\n`;
  const lines = [`${indent} *`];
  for (const word of description.split(' ')) {
    if (lines.at(-1)!.length + word.length >= LINE_CHARACTERS_MAX) lines.push(`${indent} *`);
    lines.push(`${lines.pop()} ${word}`);
  }
  return [`${indent}/**`, ...lines, `${indent} */\n`].join('\n');
}

if (import.meta.main) writeFileSync(REPLY_TYPES_PATH, await replyTypes());
