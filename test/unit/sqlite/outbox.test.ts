import { describe, expect, it } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const one = 'https://one.example/';
const two = 'https://two.example/';
const generation = 1_763_640_000;

/** An event as it is published, as far as the outbox reads it. */
const envelope = (advertId: string, sequence = 1): string =>
  JSON.stringify({
    resources: [`advert-bridge/main/advert/${advertId}`],
    detail: { metadata: { eventId: `main/${advertId}/${sequence}` } },
  });

function make() {
  const clock = createManualClock();
  const dir = folder();
  const state = openEmbeddedState(dir, { clock });
  const { outbox } = state;
  return {
    clock,
    dir,
    state,
    outbox,
    due: (webhook = one, limit = 10) => outbox.due(webhook, limit).map(({ eventId }) => eventId),
    /** Says of the oldest event that is due that it has arrived. */
    async deliver(webhook = one) {
      return outbox.delivered(outbox.due(webhook, 1)[0]?.number ?? -1);
    },
  };
}

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const page of pages) read.push(page);
  return read;
}

describe('the outbox', () => {
  it('has nothing for a webhook that it does not know', async () => {
    const { outbox, due } = make();
    expect(due()).toEqual([]);
    expect(outbox.nextDue(one)).toBeUndefined();
    expect(outbox.counts(one)).toEqual({ waiting: 0, givenUp: 0 });
    expect(outbox.webhooks()).toEqual([]);
    expect(outbox.signing(one)).toBeUndefined();
    expect(await outbox.giveUp(one, Date.now())).toBe(0);
    expect(await outbox.forget(one)).toBe(0);
  });

  it('hands an event out for each webhook, whole, until it has arrived there', async () => {
    const { outbox, clock, due, deliver } = make();
    await outbox.add([one, two], envelope('1'));

    const [event] = outbox.due(one, 10);
    expect(event).toEqual({
      number: expect.any(Number),
      eventId: 'main/1/1',
      envelope: envelope('1'),
      attempts: 0,
    });
    expect(outbox.nextDue(one)).toBe(clock.now());
    await deliver();
    await outbox.delivered(event?.number ?? -1);
    expect([due(one), due(two)]).toEqual([[], ['main/1/1']]);
    expect(outbox.webhooks()).toEqual([two]);
  });

  it('accepts an event that waits already once', async () => {
    const { outbox, due, deliver } = make();
    await outbox.add([one], envelope('1'));
    await outbox.add([one], envelope('1'));
    expect(outbox.counts(one).waiting).toBe(1);
    await deliver();
    expect(due()).toEqual([]);
  });

  it('hands out one event of each subject at a time, oldest first, so many at most', async () => {
    const { outbox, clock, due, deliver } = make();
    for (const [advertId, sequence] of [
      ['1', 1],
      ['1', 2],
      ['2', 1],
      ['3', 1],
    ] as const) {
      await outbox.add([one], envelope(advertId, sequence));
      clock.advance(1);
    }
    expect(due(one, 2)).toEqual(['main/1/1', 'main/2/1']);
    expect(due()).toEqual(['main/1/1', 'main/2/1', 'main/3/1']);

    await deliver();

    // It became due now, after those that have waited.
    expect(due()).toEqual(['main/2/1', 'main/3/1', 'main/1/2']);
    expect(outbox.counts(one).waiting).toBe(3);
  });

  it('takes events without a subject for those of one', async () => {
    const { outbox, due } = make();
    const bare = (eventId: string, more = {}) =>
      JSON.stringify({ detail: { metadata: { eventId } }, ...more });
    await outbox.add([one], bare('a'));
    await outbox.add([one], bare('b', { resources: [] }));
    await outbox.add([one], bare('c', { resources: ['advert-bridge/main'] }));
    expect(due()).toEqual(['a', 'c']);
  });

  it('sends an event that failed again when its time has come, and what follows it waits', async () => {
    const { outbox, clock, due } = make();
    await outbox.add([one], envelope('1', 1));
    await outbox.add([one], envelope('1', 2));
    const [first] = outbox.due(one, 1);
    const at = clock.now() + 60_000;

    await outbox.failed(first?.number ?? -1, at);

    expect(due()).toEqual([]);
    expect(outbox.nextDue(one)).toBe(at);
    clock.advance(59_999);
    expect(due()).toEqual([]);
    clock.advance(1);
    expect(outbox.due(one, 10)).toMatchObject([{ eventId: 'main/1/1', attempts: 1 }]);
  });

  it('sends what was put off at once when a run begins, of the webhook meant', async () => {
    const { outbox, clock, due } = make();
    await outbox.add([one, two], envelope('1'));
    for (const webhook of [one, two]) {
      await outbox.failed(outbox.due(webhook, 1)[0]?.number ?? -1, clock.now() + 60_000);
    }
    clock.advance(1_000);

    await outbox.makeAllDue(one);

    expect([due(one), due(two)]).toEqual([['main/1/1'], []]);
    expect(outbox.nextDue(one)).toBe(clock.now());
  });

  it('gives up what is older than the retention, counts it, and goes on with what follows it', async () => {
    const { outbox, clock, due } = make();
    const start = clock.now();
    await outbox.add([one, two], envelope('1', 1));
    await outbox.add([one], envelope('2', 1));
    clock.advance(1_000);
    await outbox.add([one], envelope('1', 2));
    expect(outbox.counts(one)).toEqual({ waiting: 3, oldest: start, givenUp: 0 });
    expect(await outbox.giveUp(one, start)).toBe(0);

    expect(await outbox.giveUp(one, start + 1)).toBe(2);

    expect([due(one), due(two)]).toEqual([['main/1/2'], ['main/1/1']]);
    expect(outbox.counts(one)).toEqual({ waiting: 1, oldest: start + 1_000, givenUp: 2 });
    expect(await outbox.giveUp(one, clock.now() + 1)).toBe(1);
    expect(outbox.counts(one)).toEqual({ waiting: 0, givenUp: 3 });
  });

  it('keeps a secret for each webhook, replaces it, and forgets it with what waits', async () => {
    const { outbox, due } = make();
    await outbox.writeSecret(one, new Secret('first'));
    await outbox.writeSecret(one, new Secret('second'));
    await outbox.add([one, two], envelope('1'));
    await outbox.add([one], envelope('2'));
    // The previous secret no longer signs, because it was not requested.
    expect(outbox.signing(one)?.secrets.map((secret) => secret.reveal())).toEqual(['second']);
    expect(outbox.signing(two)).toBeUndefined();
    expect(outbox.webhooks()).toEqual([one, two]);

    expect(await outbox.forget(one)).toBe(2);

    expect(outbox.signing(one)).toBeUndefined();
    expect(outbox.webhooks()).toEqual([two]);
    expect([due(one), due(two)]).toEqual([[], ['main/1/1']]);
  });

  it('keeps the secret before on demand, and a format', async () => {
    const { outbox } = make();
    const stored = () => outbox.signing(one)?.secrets.map((secret) => secret.reveal());
    await outbox.writeSecret(one, new Secret('first'), { keepOld: true });
    expect(stored()).toEqual(['first']);
    await outbox.writeSecret(one, new Secret('second'), { keepOld: true });
    expect(stored()).toEqual(['second', 'first']);
    await outbox.writeSecret(one, new Secret('second'), { keepOld: true });
    expect(stored()).toEqual(['second']);
    await outbox.writeSecret(one, new Secret('third'), { keepOld: true });
    await outbox.dropOldSecret(one);
    expect(stored()).toEqual(['third']);

    expect(outbox.signing(one)?.format).toBe('event');
    await outbox.writeFormat(one, 'cloudevents');
    expect(outbox.signing(one)).toMatchObject({ format: 'cloudevents' });
  });

  it('has no secret for a webhook of which it only counts what was given up', async () => {
    const { outbox, clock } = make();
    await outbox.add([one], envelope('1'));
    await outbox.giveUp(one, clock.now() + 1);
    expect(outbox.signing(one)).toBeUndefined();
    await outbox.writeSecret(one, new Secret('later'));
    expect(outbox.counts(one).givenUp).toBe(1);
  });

  it('still has what it accepted when the file is opened again', async () => {
    const { outbox, state, dir, clock } = make();
    await outbox.add([one], envelope('1'));
    await outbox.failed(outbox.due(one, 1)[0]?.number ?? -1, clock.now());
    state.close();

    const again = openEmbeddedState(dir, { clock });
    expect(again.outbox.due(one, 10)).toMatchObject([{ eventId: 'main/1/1', attempts: 1 }]);
    again.close();
  });
});

describe('the latest event of every advert', () => {
  const key = (advertId: string, change = {}) => ({
    partnerAccount: 'main',
    generation,
    feed: 'adverts' as const,
    advertId,
    ...change,
  });
  const row = (text?: string) => ({
    sequence: 1,
    status: 'active',
    pending: false,
    version: 1,
    ...(text === undefined ? {} : { envelope: text }),
  });

  async function withHistories(count: number) {
    const made = make();
    const { advertHistories } = made.state;
    const ids = Array.from({ length: count }, (_, index) => String(10_000 + index));
    await Promise.all(ids.map((id) => advertHistories.write(key(id), row(envelope(id)))));
    // Not meant: one without an event, and those of other generations and accounts.
    await advertHistories.write(key('1'), row());
    await advertHistories.write(key('2', { generation: generation + 1 }), row(envelope('2')));
    await advertHistories.write(key('3', { partnerAccount: 'main2' }), row(envelope('3')));
    return { ...made, advertHistories, ids };
  }

  it('is put into the outbox a thousand adverts at a time, and waits once', async () => {
    const { outbox } = await withHistories(1_001);
    const first = await outbox.addLatest(one, `main/${generation}`);
    expect(first).toEqual({ after: `main/${generation}/10998`, added: 999 });
    const second = await outbox.addLatest(one, `main/${generation}`, first?.after);
    expect(second).toEqual({ after: `main/${generation}/11000`, added: 2 });
    expect(await outbox.addLatest(one, `main/${generation}`, second?.after)).toBeUndefined();
    expect(outbox.counts(one).waiting).toBe(1_001);

    expect(await outbox.addLatest(one, `main/${generation}`)).toMatchObject({ added: 0 });
  });

  it('is read a thousand adverts at a time, in order', async () => {
    const { advertHistories, ids } = await withHistories(1_001);
    const pages = await all(advertHistories.latest({ partnerAccount: 'main', generation }));
    expect(pages.map((page) => page.length)).toEqual([999, 2]);
    expect(pages.flat()).toEqual(ids.map((id) => envelope(id)));
  });
});

describe('forgetting the histories of a partner account', () => {
  it('forgets thousands, one portion after another', async () => {
    const { state } = make();
    const { advertHistories } = state;
    const row = { sequence: 1, status: null, pending: false, version: 1, envelope: '{}' };
    await Promise.all(
      Array.from({ length: 2_001 }, (_, index) =>
        advertHistories.write(
          { partnerAccount: 'main', generation, feed: 'adverts', advertId: String(index) },
          row,
        ),
      ),
    );
    await advertHistories.remove('main', generation);
    expect(await all(advertHistories.latest({ partnerAccount: 'main', generation }))).toEqual([]);
  });
});
