import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Retrieved } from '../../archive/index.ts';
import { urlKey } from '../../url/index.ts';
import { parseHttpHead, type RecordHead } from '../../warc/index.ts';
import type { Wanted } from './candidates.ts';
import type { Capture, CaptureRange, CaptureSource } from './capture.ts';
import { type Chosen, captureAt, chooseCapture } from './capture-choice.ts';

const PAGE_URL = 'http://example.org/';
const NOON = Date.UTC(2024, 2, 1, 12);
const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const CONTENT = { digest: new Uint8Array(32), overflow: 0 };

type Entry = Partial<Pick<Capture, 'url' | 'kind' | 'status' | 'block'>> & {
  readonly time: number;
  /** Fields of the HTTP head. */
  readonly fields?: readonly string[];
  readonly isPreflight?: boolean;
};

/**
 * An archive in memory. `isFew`: whether it returns all captures of a key at once, as an archive does with few
 * captures.
 */
class MemorySource implements CaptureSource {
  readonly records = { locate: async () => [], recordsBehind: async function* () {} };
  readonly #captures: readonly Capture[];
  readonly #entries: ReadonlyMap<Capture, Entry>;
  readonly #isFew: boolean;

  constructor(entries: readonly Entry[], isFew: boolean) {
    const captures = entries.map((entry, at): [Capture, Entry] => {
      const { url = PAGE_URL, time, kind = 'response', status = 200, block = CONTENT } = entry;
      const place = { segment: 1, offset: at, length: 1 };
      const own = 'block' in entry ? entry.block : block;
      const key = urlKey(url);
      return [{ urlKey: key, time, place, url, kind, collection: 0, status, mime: '', block: own, hash: at }, entry];
    });
    this.#entries = new Map(captures);
    this.#captures = captures.map(([capture]) => capture).sort((a, b) => a.time - b.time);
    this.#isFew = isFew;
  }

  async capturesOf(key: Capture['urlKey']): Promise<readonly Capture[] | undefined> {
    return this.#isFew ? this.#captures.filter((capture) => capture.urlKey === key) : undefined;
  }

  async *captures(range: CaptureRange): AsyncGenerator<Capture[]> {
    const { keyFrom = '', keyTo, timeFrom = -Infinity, timeTo = Infinity, reverse } = range;
    const found = this.#captures.filter(
      ({ urlKey: key, time }) =>
        key >= keyFrom && (keyTo === undefined || key < keyTo) && time >= timeFrom && time <= timeTo,
    );
    yield reverse ? found.toReversed() : found;
  }

  async nearest(key: Capture['urlKey'], time: number, side: 'either' | 'notAfter' = 'either') {
    const own = this.#captures.filter((capture) => capture.urlKey === key);
    const allowed = side === 'notAfter' ? own.filter((capture) => capture.time <= time) : own;
    return allowed.toSorted((a, b) => Math.abs(a.time - time) - Math.abs(b.time - time))[0];
  }

  async getBlocks(keys: readonly object[]) {
    return keys.map(() => ({ key: CONTENT, size: 10, holder: { segment: 1, offset: 0, length: 1 }, references: 1 }));
  }

  async open(capture: Capture): Promise<Retrieved> {
    const { fields = [], isPreflight } = this.#entries.get(capture)!;
    const head = { get: (name: string) => (name === 'warc-resource-type' && isPreflight ? 'preflight' : undefined) };
    const lines = [`HTTP/1.1 ${capture.status} Reason`, ...fields, '', ''];
    return {
      capture,
      head: head as unknown as RecordHead,
      http: parseHttpHead(Buffer.from(lines.join('\r\n'))),
      holderHttp: undefined,
      payload: (async function* () {})(),
      isSound: true,
      damage: () => [],
    };
  }
}

type Asked = Partial<Omit<Wanted, 'key'>>;

/** The chosen capture. Asserts that it is the same whether the key has few captures or many. */
async function chosen(entries: readonly Entry[], asked: Asked = {}): Promise<Chosen | undefined> {
  const { url = PAGE_URL, at = NOON, side = 'either' } = asked;
  const wanted: Wanted = { ...asked, key: urlKey(url), url, at: 'at' in asked ? asked.at : at, side };
  const [few, many] = await Promise.all(
    [true, false].map((isFew) => chooseCapture(new MemorySource(entries, isFew), wanted)),
  );
  assert.deepEqual(factsOf(few), factsOf(many));
  return few;
}

function factsOf(found: Chosen | undefined): unknown {
  return found && [found.capture.hash, found.redirectLoop, found.selfRedirect?.hash];
}

/** The entry that is chosen, by its place in the list. */
async function indexOfChosen(entries: readonly Entry[], asked?: Asked): Promise<number | undefined> {
  return (await chosen(entries, asked))?.capture.hash;
}

const redirect = (time: number, location: string, url = PAGE_URL): Entry => {
  return { time, url, status: 302, fields: [`Location: ${location}`] };
};

describe('by time', () => {
  test('the capture of the requested second is chosen', async () => {
    const entries = [{ time: NOON - 1 }, { time: NOON + 999 }, { time: NOON + 1000 }];
    assert.equal(await indexOfChosen(entries), 1);
  });

  test('without a capture of the requested second the nearest is chosen, before or after it', async () => {
    assert.equal(await indexOfChosen([{ time: NOON - 2 * DAY }, { time: NOON + DAY }]), 1);
    assert.equal(await indexOfChosen([{ time: NOON - DAY }, { time: NOON + 2 * DAY }]), 0);
  });

  test('without a time the latest capture is chosen', async () => {
    assert.equal(await indexOfChosen([{ time: NOON }, { time: NOON + DAY }], { at: undefined }), 1);
  });

  test('a link leads to the newest capture that is not newer than the page', async () => {
    const entries = [{ time: NOON - 20 * DAY }, { time: NOON + DAY }];
    assert.equal(await indexOfChosen(entries, { side: 'notAfter' }), 0);
  });

  test('a link leads to a nearer capture of the hours after the page, which the same crawl made', async () => {
    const entries = [{ time: NOON - 20 * DAY }, { time: NOON + HOUR }];
    assert.equal(await indexOfChosen(entries, { side: 'notAfter' }), 1);
  });

  test('a link leads to a newer capture if there is no other', async () => {
    assert.equal(await indexOfChosen([{ time: NOON + DAY }], { side: 'notAfter' }), 0);
  });

  test('nothing is chosen where there is no capture', async () => {
    assert.equal(await chosen([{ time: NOON, url: 'http://example.org/other' }]), undefined);
  });
});

describe('by URL', () => {
  test('a capture of the very URL is chosen before a nearer one of the same visit that shares its key', async () => {
    const entries = [
      { time: NOON, url: 'http://example.org/A' },
      { time: NOON + HOUR, url: 'http://example.org/a' },
    ];
    assert.equal(await indexOfChosen(entries, { at: NOON + 1000, url: 'http://example.org/a' }), 1);
  });

  test('a capture of another scheme is not chosen', async () => {
    assert.equal(await chosen([{ time: NOON, url: 'dns://example.org' }]), undefined);
  });
});

describe('by kind', () => {
  const LATER = { time: NOON + DAY };

  test('a revisit is chosen if its content is in the archive', async () => {
    assert.equal(await indexOfChosen([{ time: NOON, kind: 'revisit' }, LATER]), 0);
  });

  test('a revisit without content is never chosen, unless it is a redirection', async () => {
    const revisit = { time: NOON, kind: 'revisit', block: undefined } as const;
    assert.equal(await indexOfChosen([revisit, LATER]), 1);
    assert.equal(await chosen([revisit]), undefined);
    assert.equal(await indexOfChosen([{ ...revisit, status: 301, fields: ['Location: /new'] }, LATER]), 0);
  });

  test('a metadata record is never chosen', async () => {
    assert.equal(await chosen([{ time: NOON, kind: 'metadata' }]), undefined);
  });

  test('a conversion, a 304 and a 1xx are chosen if there is nothing better', async () => {
    for (const entry of [{ kind: 'conversion' }, { status: 304 }, { status: 103 }] as const) {
      const fallback = { time: NOON, ...entry };
      assert.equal(await indexOfChosen([fallback, LATER]), 1);
      assert.equal(await indexOfChosen([fallback]), 0);
    }
  });

  test('a preflight is passed over', async () => {
    assert.equal(await indexOfChosen([{ time: NOON, isPreflight: true }, LATER]), 1);
  });
});

describe('of parts', () => {
  const part = (time: number, range: string): Entry => {
    return { time, status: 206, fields: [`Content-Range: bytes ${range}`] };
  };

  test('a part that is the whole content is chosen like any answer', async () => {
    assert.equal(await indexOfChosen([part(NOON, '0-9/10'), { time: NOON + DAY }]), 0);
  });

  test('a part that is not the whole content is chosen if there is nothing better', async () => {
    assert.equal(await indexOfChosen([part(NOON, '0-9/20'), { time: NOON + DAY }]), 1);
    assert.equal(await indexOfChosen([part(NOON, '0-9/20')]), 0);
  });

  test('a request for a range gets the part with its first byte', async () => {
    const parts = [part(NOON, '0-9/30'), part(NOON + 1000, '10-19/30'), part(NOON + 2000, '20-29/30')];
    assert.equal(await indexOfChosen(parts, { range: 'bytes=12-' }), 1);
    assert.equal(await indexOfChosen(parts, { range: 'bytes=25-26' }), 2);
  });

  test('a part of a content of another size does not count', async () => {
    const parts = [part(NOON, '0-9/30'), part(NOON + 1000, '10-19/31'), part(NOON + 2000, '10-19/30')];
    assert.equal(await indexOfChosen(parts, { range: 'bytes=12-' }), 2);
  });

  test('a part counts only as far as its bytes are in the archive', async () => {
    const parts = [part(NOON, '0-19/30'), part(NOON + 1000, '10-19/30')];
    assert.equal(await indexOfChosen(parts, { range: 'bytes=12-' }), 1);
  });
});

describe('of redirections', () => {
  test('a redirection that leads elsewhere is chosen', async () => {
    assert.equal(await indexOfChosen([redirect(NOON, '/new'), { time: NOON + DAY }]), 0);
  });

  test('a redirection without a target is chosen for its body', async () => {
    assert.equal(await indexOfChosen([{ time: NOON, status: 302 }, { time: NOON + DAY }]), 0);
  });

  test('a redirection to its own key is returned beside the next best capture', async () => {
    const found = await chosen([redirect(NOON, 'https://www.example.org/'), { time: NOON + DAY }]);
    assert.deepEqual([found?.capture.hash, found?.selfRedirect?.hash], [1, 0]);
  });

  test('a redirection to its own key in another second is not returned', async () => {
    const found = await chosen([redirect(NOON + 5000, 'https://example.org/'), { time: NOON + DAY }]);
    assert.deepEqual([found?.capture.hash, found?.selfRedirect], [1, undefined]);
  });

  test('a URL that has only redirections to itself is a loop of one URL', async () => {
    assert.deepEqual((await chosen([redirect(NOON, 'https://example.org/')]))?.redirectLoop, [PAGE_URL]);
  });

  const LOOP = [redirect(NOON, '/cookie'), redirect(NOON + 1000, '/', 'http://example.org/cookie')];

  test('redirections that lead back to themselves over other URLs are returned as a loop', async () => {
    const found = await chosen(LOOP);
    assert.deepEqual([found?.capture.hash, found?.redirectLoop], [0, [PAGE_URL, 'http://example.org/cookie']]);
  });

  test('the page to which a loop led on the web is chosen in place of the loop', async () => {
    const found = await chosen([...LOOP, { time: NOON + 3000 }]);
    assert.deepEqual([found?.capture.hash, found?.redirectLoop], [2, undefined]);
  });

  test('a loop is shown as a redirection if another of its URLs leads out of the loop', async () => {
    const found = await chosen([...LOOP, { time: NOON + 3000, url: 'http://example.org/cookie' }]);
    assert.deepEqual([found?.capture.hash, found?.redirectLoop], [0, undefined]);
  });

  test('a redirection into a loop that it is not part of is chosen', async () => {
    const entries = [...LOOP, redirect(NOON, '/', 'http://example.org/in'), { time: NOON + DAY }];
    assert.equal(await indexOfChosen(entries, { url: 'http://example.org/in' }), 2);
  });
});

test('the capture shown at a time is the one that replay chooses', async () => {
  const cases: readonly (readonly Entry[])[] = [
    [{ time: NOON }, { time: NOON + DAY }],
    [{ time: NOON, status: 304 }, { time: NOON + DAY }],
    [redirect(NOON, 'https://example.org/'), { time: NOON + DAY }],
    [redirect(NOON, '/cookie'), redirect(NOON, '/', 'http://example.org/cookie'), { time: NOON + DAY }],
    [redirect(NOON, '/cookie'), redirect(NOON, '/', 'http://example.org/cookie')],
  ];
  for (const entries of cases) {
    const source = new MemorySource(entries, true);
    const shown = await captureAt(source, { key: urlKey(PAGE_URL), url: PAGE_URL, at: NOON, side: 'either' });
    assert.equal(shown?.capture.hash, await indexOfChosen(entries));
  }
});
