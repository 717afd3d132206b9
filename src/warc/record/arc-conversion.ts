/**
 * ARC records as WARC records, after the guidelines of the field: one file to one file, the date of capture kept, the
 * version block a metadata record. A document that is an HTTP message becomes a response; anything else, like a DNS
 * answer, a resource. Where the date means no time, the record has none.
 */
import type { Digest, IdSource } from '../../base/index.ts';
import type { NewRecord } from './new-record.ts';
import { type Field, type RecordHead, SOURCE_DATE_FIELD } from './record-head.ts';

export type ArcConversion = {
  readonly newId: IdSource;
  /** Of the warcinfo record that stands first in the new file. */
  readonly warcinfoId: string;
};

export function convertArcHead(
  head: RecordHead,
  document: { isHttp: boolean; payloadDigest: Digest; blockDigest: Digest },
  conversion: ArcConversion,
): NewRecord {
  const address = head.get('warc-ip-address') ?? '';
  const fields: Field[] = [{ name: 'WARC-Warcinfo-ID', value: conversion.warcinfoId }];
  const sourceDate = head.get(SOURCE_DATE_FIELD);
  if (sourceDate !== undefined) fields.push({ name: SOURCE_DATE_FIELD, value: sourceDate });
  if (head.type === 'filedesc') {
    return {
      type: 'metadata',
      recordId: conversion.newId(),
      date: head.date,
      targetUri: head.targetUri,
      blockDigest: document.blockDigest,
      contentType: head.get('arc-mime') || 'text/plain',
      fields,
    };
  }
  if (/^[0-9a-f.:]+$/i.test(address) && address !== '0.0.0.0')
    fields.unshift({ name: 'WARC-IP-Address', value: address });
  return {
    type: document.isHttp ? 'response' : 'resource',
    recordId: conversion.newId(),
    date: head.date,
    targetUri: head.targetUri,
    payloadDigest: document.payloadDigest,
    blockDigest: document.blockDigest,
    contentType: document.isHttp ? 'application/http; msgtype=response' : head.get('arc-mime') || undefined,
    fields,
  };
}
