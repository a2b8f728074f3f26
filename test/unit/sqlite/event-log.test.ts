import { describe, expect, it } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const one = 'https://one.example/';
const two = 'https://two.example/';
const generation = 1_763_640_000;

/** An event as it is published, as far as the log reads it. */
const envelope = (advertId: string, sequence = 1): string =>
  JSON.stringify({
    resources: [`advert-bridge/main/advert/${advertId}`],
    detail: { metadata: { eventId: `main/${advertId}/${sequence}` } },
  });

function make() {
  const clock = createManualClock();
  const dir = folder();
  const state = openEmbeddedState(dir, { clock });
  const { eventLog: log, webhooks } = state;
  return {
    ...{ clock, dir, state, log, webhooks },
    urls: () => webhooks.list().map(({ url }) => url),
    of: (url: string) => webhooks.list().find((webhook) => webhook.url === url),
  };
}

const hourMs = 3_600_000;
const numbersOf = (events: readonly { readonly number: number }[]) => events.map(({ number }) => number);

describe('the event log', () => {
  it('is read by each reader from its own position, which a new one has at the end', async () => {
    const { log } = make();
    await log.append(envelope('1'));
    expect(await log.begin(one)).toBe(1);
    await log.append(envelope('2'));
    expect(await log.begin(two)).toBe(2);
    await log.append(envelope('3'));

    await log.advance(one, 2);

    expect(log.after(log.position(one) ?? 0, one)).toEqual([{ number: 3, envelope: envelope('3') }]);
    expect([log.unread(one).waiting, log.unread(two).waiting]).toEqual([1, 1]);
    expect(await log.begin(one)).toBe(2);
    expect(log.unread('nobody')).toEqual({ waiting: 0 });
  });

  it('moves no position back', async () => {
    const { log } = make();
    await log.append(envelope('1'));
    await log.begin(one);
    await log.advance(one, 0);
    expect(log.position(one)).toBe(1);
  });

  it('keeps what a reader has not read, until it is too old for it', async () => {
    const { log, clock, of } = make();
    await log.begin(one);
    const append = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => log.append(`event ${index}`)));
    await append(4_000);
    clock.advance(2 * hourMs);
    await append(8_000);
    expect(log.ends()).toEqual({ first: 1, last: 12_000 });

    expect(await log.giveUp(one, clock.now() - hourMs)).toBe(4_000);
    await append(2_000);

    expect(log.ends()).toEqual({ first: 4_001, last: 14_000 });
    expect(of(one)).toMatchObject({ givenUp: 4_000, waiting: 10_000, oldest: clock.now() });
    await log.leave(one);
    await append(4_000);
    expect(log.ends().first).toBeGreaterThan(12_000);
  });

  it('still has its events and positions when the file is opened again', async () => {
    const { log, state, dir, clock } = make();
    await log.begin(one);
    await log.append(envelope('1'));
    state.close();

    const again = openEmbeddedState(dir, { clock });
    expect(again.eventLog.after(again.eventLog.position(one) ?? -1, one)).toEqual([
      { number: 1, envelope: envelope('1') },
    ]);
    again.close();
  });
});

describe('the webhooks', () => {
  it('have none at first', async () => {
    const { webhooks, urls } = make();
    expect(urls()).toEqual([]);
    expect(webhooks.next(one, 10)).toEqual([]);
    expect(webhooks.signing(one)).toBeUndefined();
    expect(await webhooks.giveUp(one, Date.now())).toBe(0);
    expect(await webhooks.forget(one)).toBe(0);
  });

  const subject = 'advert-bridge/main/advert/7';
  const trouble = { reason: 'it answered 422', since: 5, gone: false };

  /** A webhook and three events of one advert. */
  async function withEvents() {
    const made = make();
    const { log, webhooks } = made;
    await log.begin(one);
    for (const sequence of [1, 2, 3]) await log.append(envelope('7', sequence));
    const fail = (number: number, dueAt: number, attempts = 1) =>
      webhooks.settle(one, { trouble, unsent: { number, subject, attempts, dueAt } });
    const arrive = (number: number) =>
      webhooks.settle(one, { trouble: undefined, sent: { number, subject } });
    return { ...made, fail, arrive, next: () => numbersOf(webhooks.next(one, 10)) };
  }

  it.each([
    ['before', [2, 1]],
    ['after', [1, 2]],
  ])(
    'keep unsent events of a subject in order, also when the later one is stored %s',
    async (_when, order) => {
      const { webhooks, log, fail, arrive, next, of } = await withEvents();
      await Promise.all(order.map((number) => fail(number, 1_000, number === 1 ? 2 : 0)));
      await log.advance(one, 2);

      expect(webhooks.next(one, 10)).toEqual([
        { number: 1, subject, envelope: envelope('7', 1), attempts: 2, dueAt: 1_000 },
      ]);
      expect(of(one)).toMatchObject({ waiting: 3, trouble });
      expect([1, 3].map((number) => webhooks.unsentOf(one, { subject, number }))).toEqual([
        'itself',
        'others',
      ]);
      await arrive(1);
      expect(next()).toEqual([2]);
      await arrive(2);
      expect(webhooks.unsentOf(one, { subject, number: 3 })).toBe('none');
      expect(of(one)).toEqual({ url: one, givenUp: 0, waiting: 1, oldest: expect.any(Number) });
    },
  );

  it('give up what is older than the retention, count it, and go on with what follows it', async () => {
    const { log, webhooks, clock, fail, next, of } = await withEvents();
    clock.advance(hourMs);
    await log.append(envelope('7', 4));
    for (const number of [1, 2, 3, 4]) await fail(number, clock.now());
    await log.advance(one, 4);

    expect(await webhooks.giveUp(one, clock.now() - hourMs / 2)).toBe(3);

    expect(next()).toEqual([4]);
    expect(of(one)).toMatchObject({ givenUp: 3, waiting: 1 });
    // The attempt for an event that was given up was still under way.
    await fail(1, clock.now());
    expect(of(one)).toMatchObject({ givenUp: 3, waiting: 1 });
  });

  it('make everything due for a new run, except what follows an unsent event', async () => {
    const { webhooks, fail } = await withEvents();
    for (const number of [1, 2]) await fail(number, 99_000);
    await webhooks.makeAllDue(one);
    expect(webhooks.next(one, 10)).toMatchObject([{ number: 1, dueAt: 0 }]);
  });

  it('keeps a secret for each webhook, replaces it, and forgets it with what waits', async () => {
    const { log, webhooks, urls } = make();
    await webhooks.writeSecret(one, new Secret('first'));
    await webhooks.writeSecret(one, new Secret('second'));
    await log.begin(one);
    await log.begin(two);
    await log.append(envelope('1'));
    await log.append(envelope('2'));
    // The previous secret no longer signs, because it was not requested.
    expect(webhooks.signing(one)?.secrets.map((secret) => secret.reveal())).toEqual(['second']);
    expect(webhooks.signing(two)).toBeUndefined();
    expect(urls()).toEqual([one, two]);

    expect(await webhooks.forget(one)).toBe(2);

    expect(webhooks.signing(one)).toBeUndefined();
    expect(urls()).toEqual([two]);
    expect(log.unread(two).waiting).toBe(2);
  });

  it('keeps the secret before on demand, and a format', async () => {
    const { webhooks } = make();
    const stored = () => webhooks.signing(one)?.secrets.map((secret) => secret.reveal());
    await webhooks.writeSecret(one, new Secret('first'), { keepOld: true });
    expect(stored()).toEqual(['first']);
    await webhooks.writeSecret(one, new Secret('second'), { keepOld: true });
    expect(stored()).toEqual(['second', 'first']);
    await webhooks.writeSecret(one, new Secret('second'), { keepOld: true });
    expect(stored()).toEqual(['second']);
    await webhooks.writeSecret(one, new Secret('third'), { keepOld: true });
    await webhooks.dropOldSecret(one);
    expect(stored()).toEqual(['third']);

    expect(webhooks.signing(one)?.format).toBe('event');
    await webhooks.writeFormat(one, 'cloudevents');
    expect(webhooks.signing(one)).toMatchObject({ format: 'cloudevents' });
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
    etag: 'absent',
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

  it('is appended for one reader, a thousand adverts at a time', async () => {
    const { log } = await withHistories(1_001);
    await log.begin(one);
    await log.begin(two);
    const first = await log.appendLatest(one, `main/${generation}`);
    expect(first).toEqual({ after: `main/${generation}/10998`, added: 999 });
    const second = await log.appendLatest(one, `main/${generation}`, first?.after);
    expect(second).toEqual({ after: `main/${generation}/11000`, added: 2 });
    expect(await log.appendLatest(one, `main/${generation}`, second?.after)).toBeUndefined();
    expect([log.unread(one).waiting, log.unread(two).waiting]).toEqual([1_001, 0]);
    expect([log.after(0, one).length, log.after(0, two).length, log.after(0).length]).toEqual([500, 0, 0]);
  });

  it('is read a thousand adverts at a time, in order', async () => {
    const { advertHistories, ids } = await withHistories(1_001);
    const history = { partnerAccount: 'main', generation };
    const first = await advertHistories.page(history);
    const second = await advertHistories.page(history, first.next);
    expect([first.envelopes.length, second.envelopes.length, second.next]).toEqual([999, 2, undefined]);
    expect([...first.envelopes, ...second.envelopes]).toEqual(ids.map((id) => envelope(id)));
  });
});

describe('forgetting the histories of a partner account', () => {
  it('forgets thousands, one portion after another', async () => {
    const { state } = make();
    const { advertHistories } = state;
    const row = { sequence: 1, status: null, pending: false, etag: 'absent', envelope: '{}' };
    await Promise.all(
      Array.from({ length: 2_001 }, (_, index) =>
        advertHistories.write(
          { partnerAccount: 'main', generation, feed: 'adverts', advertId: String(index) },
          row,
        ),
      ),
    );
    await advertHistories.remove('main', generation);
    expect((await advertHistories.page({ partnerAccount: 'main', generation })).advertIds).toEqual([]);
  });
});
