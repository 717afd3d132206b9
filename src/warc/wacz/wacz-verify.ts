/**
 * Verifies a WACZ:
 *
 * - the package contains everything that datapackage.json declares, with the declared size and hash;
 * - the package contains nothing else;
 * - the files that every package must have exist;
 * - WARC files and compressed indexes are stored;
 * - the index refers to bytes in the package;
 * - the signature, if there is one, is right.
 *
 * Every byte of the package is read once, the index twice. Memory does not grow with the package (I9): only the first
 * FINDINGS_MAX findings of each kind are kept.
 */
import {
  type Finding,
  type FindingLevel,
  formatDigest,
  parseDigest,
  RunningDigest,
  sameDigest,
} from '../../base/index.ts';
import { type IndexFindingCode, indexFinding } from '../cdx/cdx-finding.ts';
import { toByteText } from '../cdx/cdx-line.ts';
import { DEFLATED, isReadable, type ZipEntry } from './wacz-entry.ts';
import { DATAPACKAGE, DATAPACKAGE_DIGEST, type WaczResource } from './wacz-package.ts';
import { openWacz, type Wacz } from './wacz-reader.ts';
import { checkSignature, type SignatureState } from './wacz-signature.ts';

export type WaczVerification = {
  readonly findings: readonly Finding[];
  /** The worst level among the findings; undefined when there are none. */
  readonly worst: FindingLevel | undefined;
  readonly files: number;
  readonly bytes: number;
  readonly signature: SignatureState;
};

const FINDINGS_MAX = 100;

class FindingList {
  readonly #findings: Finding[] = [];
  readonly #counts = new Map<string, number>();
  readonly #seen = new Set<string>();

  readonly add = (finding: Finding): void => {
    // The same fault is found again each time a part of the package is read again.
    const key = `${finding.code} ${finding.file} ${finding.offset} ${finding.message}`;
    if (this.#seen.has(key)) return;
    const count = (this.#counts.get(finding.code) ?? 0) + 1;
    this.#counts.set(finding.code, count);
    if (count > FINDINGS_MAX) return;
    this.#seen.add(key);
    this.#findings.push(finding);
  };

  finish(file: string): Finding[] {
    for (const [code, count] of this.#counts) {
      if (count <= FINDINGS_MAX) continue;
      this.#findings.push(indexFinding('wacz-findings-more', file, 0, `${count - FINDINGS_MAX} of ${code}`));
    }
    return this.#findings;
  }
}

export type WaczVerifyOptions = {
  readonly signal?: AbortSignal;
  /** Called with the number of bytes of the contained files that were read. */
  readonly onBytes?: (bytes: number) => void;
};

export async function verifyWacz(path: string, { signal, onBytes }: WaczVerifyOptions = {}): Promise<WaczVerification> {
  let read = 0;
  const watch = (bytes: number) => {
    signal?.throwIfAborted();
    read += bytes;
    onBytes?.(read);
  };
  const list = new FindingList();
  const wacz = await openWacz(path, { onFinding: list.add });
  try {
    const checks = new WaczChecks(wacz, list.add, watch);
    await checks.run();
    const findings = list.finish(path);
    const worst = (['error', 'warning', 'note'] as const).find((level) => findings.some((one) => one.level === level));
    return { findings, worst, files: checks.files, bytes: checks.bytes, signature: checks.signature };
  } finally {
    await wacz.close();
  }
}

class WaczChecks {
  files = 0;
  bytes = 0;
  signature: SignatureState = 'none';
  readonly #wacz: Wacz;
  readonly #add: (finding: Finding) => void;
  /** Called with the number of bytes just read; throws when the verification was aborted. */
  readonly #watch: (bytes: number) => void;

  constructor(wacz: Wacz, add: (finding: Finding) => void, watch: (bytes: number) => void) {
    this.#wacz = wacz;
    this.#add = add;
    this.#watch = watch;
  }

  async run(): Promise<void> {
    const resources = new Map<string, WaczResource>();
    for (const resource of this.#wacz.package?.resources ?? []) resources.set(resource.path, resource);
    this.#checkRequired();
    for (const resource of resources.values()) {
      if (!this.#wacz.entry(resource.path)) this.#report('wacz-resource-missing', 0, resource.path);
    }
    for (const entry of this.#wacz.entries) await this.#checkEntry(entry, resources.get(entry.name));
    await this.#checkPackageDigest();
    await this.#checkPages();
    await this.#checkIndexes();
    for await (const inner of this.#wacz.nested()) {
      const checks = new WaczChecks(inner, this.#add, this.#watch);
      await checks.run();
      this.files += checks.files;
      this.bytes += checks.bytes;
    }
  }

  #checkRequired(): void {
    const wacz = this.#wacz;
    const names = wacz.entries.map((entry) => entry.name);
    if (!wacz.entry(DATAPACKAGE)) this.#report('wacz-file-missing', 0, DATAPACKAGE);
    if (wacz.package?.isMulti) return;
    if (!names.some((name) => /^archive\/.*\.warc(\.gz)?$/.test(name))) {
      this.#report('wacz-file-missing', 0, 'a WARC file in archive/');
    }
    if (wacz.indexes().length === 0) this.#report('wacz-file-missing', 0, 'an index in indexes/');
    if (!wacz.entry('pages/pages.jsonl')) this.#report('wacz-file-missing', 0, 'pages/pages.jsonl');
  }

  async #checkEntry(entry: ZipEntry, resource: WaczResource | undefined): Promise<void> {
    const { name } = entry;
    const isManifest = name === DATAPACKAGE || name === DATAPACKAGE_DIGEST;
    if (!resource && !isManifest && this.#wacz.package) this.#reportEntry('wacz-resource-unlisted', entry);
    if (entry.method === DEFLATED && /^archive\/|\.(warc|arc|cdxj?)\.gz$|\.warc$/.test(name)) {
      this.#reportEntry('wacz-not-stored', entry);
    }
    if (!isReadable(entry)) return;
    const declared = resource?.hash === undefined ? undefined : parseDigest(resource.hash);
    if (resource && !declared) this.#reportEntry('wacz-hash-missing', entry, resource.hash);
    const running = declared && new RunningDigest(declared.algorithm);
    let bytes = 0;
    for await (const chunk of this.#wacz.read(entry)) {
      this.#watch(chunk.length);
      running?.update(chunk);
      bytes += chunk.length;
    }
    this.files++;
    this.bytes += bytes;
    if (resource?.bytes !== undefined && resource.bytes !== bytes) {
      this.#reportEntry('wacz-size-mismatch', entry, `${bytes} bytes instead of ${resource.bytes}`);
    }
    const found = running?.finish();
    if (declared && found && !sameDigest(declared, found)) {
      this.#reportEntry('wacz-hash-mismatch', entry, `${formatDigest(found)} instead of ${resource?.hash}`);
    }
  }

  async #checkPackageDigest(): Promise<void> {
    const stated = await this.#wacz.packageDigest();
    const bytes = stated && (await this.#wacz.readWhole(DATAPACKAGE));
    if (!stated || !bytes) return;
    const report = (code: IndexFindingCode, detail = '') => this.#report(code, 0, detail);
    if (stated.digest) {
      const running = new RunningDigest(stated.digest.algorithm);
      running.update(bytes);
      const found = running.finish();
      if (!sameDigest(stated.digest, found)) report('wacz-package-digest-mismatch', formatDigest(found));
    }
    const signed = stated.signedData;
    if (!signed) return;
    this.signature = checkSignature(signed, report);
    const signedDigest = parseDigest(signed.hash);
    if (!stated.digest || !signedDigest || !sameDigest(stated.digest, signedDigest)) {
      this.signature = 'invalid';
      report('wacz-signature-invalid', 'another hash was signed than that of the package');
    }
    if (signed.created !== this.#wacz.package?.created) report('wacz-signature-created', signed.created);
  }

  async #checkPages(): Promise<void> {
    for (const name of this.#wacz.pageLists()) {
      for await (const page of this.#wacz.pages(name)) {
        if (page.ts === '') this.#report('wacz-page-invalid', 0, `${name}: ${page.url} has no ts`);
      }
    }
  }

  async #checkIndexes(): Promise<void> {
    const lengths = new Map<string, number>();
    for (const entry of this.#wacz.entries) {
      if (entry.name.startsWith('archive/')) lengths.set(entry.name.slice('archive/'.length), entry.bytes ?? 0);
    }
    const lines = new Map<string, number>();
    for (const name of this.#wacz.indexes()) {
      let previous = '';
      let count = 0;
      let isSorted = true;
      for await (const { urlKey, timestamp, filename, offset, length } of this.#wacz.index(name)) {
        this.#watch(0);
        count++;
        const key = toByteText(`${urlKey} ${timestamp}`);
        if (isSorted && key < previous) {
          isSorted = false;
          this.#report('wacz-index-order', 0, `${name} at ${urlKey} ${timestamp}`);
        }
        previous = key;
        const file = filename?.replace(/^archive\//, '');
        const size = file === undefined ? undefined : lengths.get(file);
        if (size === undefined || (offset ?? 0) + (length ?? 0) > size) {
          const place = `${filename ?? 'no file'} at ${offset ?? 'no offset'}`;
          this.#report('wacz-index-dangling', 0, `${name}: ${urlKey} ${timestamp} in ${place}`);
        }
      }
      lines.set(name, count);
    }
    for (const name of this.#wacz.secondaryIndexes()) {
      const zipNum = await this.#wacz.zipNum(name);
      if (!zipNum) continue;
      // Reading all blocks compares each with its digest, and reports faults.
      let reached = 0;
      for await (const _ of zipNum.reader.lines()) {
        this.#watch(0);
        reached++;
      }
      let held = 0;
      for (const part of zipNum.parts) held += lines.get(part) ?? 0;
      if (reached < held) this.#report('zipnum-incomplete', 0, `${name} reaches ${reached} of ${held} lines`);
    }
  }

  #report(code: IndexFindingCode, offset: number, detail?: string): void {
    this.#add(indexFinding(code, this.#wacz.source.name, offset, detail));
  }

  #reportEntry(code: IndexFindingCode, entry: ZipEntry, detail?: string): void {
    this.#report(code, entry.headerOffset, detail ? `${entry.name}: ${detail}` : entry.name);
  }
}
