import { expect, it } from 'vitest';
import { shownUrl } from '../../../../embedded/state/event-log.ts';
import { openEmbeddedState } from '../../../../embedded/state/state.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const one = 'https://one.example/';
const two = 'https://two.example/';
const generation = 1_763_640_000;
const hourMs = 3_600_000;
const olderThan = (before: number) => ({ before, maxEvents: 1_000_000 });

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
    append: (...adverts: string[]) => Promise.all(adverts.map((advert) => log.append(envelope(advert)))),
    urls: () => webhooks.list().map(({ url }) => url),
    of: (url: string) => webhooks.list().find((webhook) => webhook.url === url),
  };
}

it('each reader reads the event log from its own position after a reopen', async () => {
  const { log, append, state, dir } = make();
  await append('1');
  // A new reader begins at the end.
  expect(await log.begin(one)).toBe(1);
  await append('2');
  expect(await log.begin(two)).toBe(2);
  await append('3');

  await log.advance(one, 2);
  // No position moves back.
  await log.advance(one, 0);
  state.close();

  const { eventLog: again, close } = openEmbeddedState(dir);
  expect(await again.begin(one)).toBe(2);
  expect(again.after(again.position(one) ?? 0, one)).toEqual([{ number: 3, envelope: envelope('3') }]);
  expect([one, two, 'nobody'].map(again.position)).toEqual([2, 2, undefined]);
  close();
});

it('the event log keeps what a reader has not read, until it is too old', async () => {
  const { log, clock, of } = make();
  await log.begin(one);
  const append = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => log.append(`event ${index}`)));
  await append(4_000);
  clock.advance(2 * hourMs);
  await append(8_000);
  expect(log.ends()).toEqual({ first: 1, last: 12_000 });

  expect(await log.giveUp(one, olderThan(clock.now() - hourMs))).toMatchObject({ tooOld: 4_000 });
  await append(2_000);

  expect(log.ends()).toEqual({ first: 4_001, last: 14_000 });
  expect(of(one)).toMatchObject({ givenUp: 4_000, waiting: 10_000, oldest: clock.now() });
  await log.leave(one);
  await append(5_000);
  // Nobody reads: the last five thousand are kept.
  expect(log.ends()).toEqual({ first: 14_001, last: 19_000 });
});

it('one reader gets the latest event of every advert of a generation again', async () => {
  const { log, state, of } = make();
  const { advertHistories } = state;
  const write = (advertId: string, text: string | undefined, change = {}) =>
    advertHistories.write(
      { ...{ partnerAccount: 'main', generation, feed: 'adverts', advertId }, ...change } as const,
      {
        ...{ sequence: 1, status: 'active', pending: false, etag: 'absent' },
        ...(text && { envelope: text }),
      },
    );
  const ids = Array.from({ length: 1_001 }, (_, index) => String(10_000 + index));
  await Promise.all(ids.map((id) => write(id, envelope(id))));
  // Not meant: one without an event, and those of other generations and accounts.
  await write('1', undefined);
  await write('2', envelope('2'), { generation: generation + 1 });
  await write('3', envelope('3'), { partnerAccount: 'main2' });
  await log.begin(one);
  await log.begin(two);

  const history = `main/${generation}`;
  const first = await log.appendLatest(one, history);
  expect(first).toEqual({ after: `${history}/10998`, added: 999 });
  const second = await log.appendLatest(one, history, first?.after);
  expect(second).toEqual({ after: `${history}/11000`, added: 2 });
  expect(await log.appendLatest(one, history, second?.after)).toBeUndefined();
  expect([of(one)?.waiting, of(two)?.waiting]).toEqual([1_001, 0]);
  expect([log.after(0, one).length, log.after(0, two).length, log.after(0).length]).toEqual([500, 0, 0]);
  const pages = [await advertHistories.page({ partnerAccount: 'main', generation })];
  pages.push(await advertHistories.page({ partnerAccount: 'main', generation }, pages[0]?.next));
  expect(pages.flatMap(({ envelopes }) => envelopes)).toEqual(ids.map((id) => envelope(id)));
});

it('a new state has no webhooks', async () => {
  const { log, webhooks, urls } = make();
  expect([urls(), webhooks.next(one, 10), webhooks.signing(one)]).toEqual([[], [], undefined]);
  const nothing = { tooOld: 0, tooMany: 0, position: 0 };
  expect(await log.giveUp(one, olderThan(Date.now()))).toEqual(nothing);
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
  const event = (number: number) => ({ number, subject, envelope: '', attempts: 0, dueAt: 0 });
  const position = 0;
  const fail = (number: number, dueAt: number, attempts = 1) =>
    webhooks.settle(one, { position, trouble, sent: [], unsent: [{ ...event(number), attempts, dueAt }] });
  const arrive = (number: number) =>
    webhooks.settle(one, { position, trouble: undefined, sent: [event(number)], unsent: [] });
  return { ...made, fail, arrive, next: () => webhooks.next(one, 10).map(({ number }) => number) };
}

it.each([[[2, 1]], [[1, 2]]])(
  'unsent events of a subject stay in order when stored in the order %o',
  async (order) => {
    const { webhooks, log, fail, arrive, next, of } = await withEvents();
    await Promise.all(order.map((number) => fail(number, 1_000, number === 1 ? 2 : 0)));
    await log.advance(one, 2);

    expect(webhooks.next(one, 10)).toEqual([
      { number: 1, subject, envelope: envelope('7', 1), attempts: 2, dueAt: 1_000 },
    ]);
    expect(of(one)).toMatchObject({ waiting: 3, trouble });
    expect(webhooks.hasUnsent(one, subject)).toBe(true);
    await arrive(1);
    expect(next()).toEqual([2]);
    await arrive(2);
    expect(webhooks.hasUnsent(one, subject)).toBe(false);
    expect(of(one)).toEqual({ url: one, givenUp: 0, waiting: 1, oldest: expect.any(Number) });
  },
);

it('a webhook gives up and counts the oldest events when too many wait', async () => {
  const { log, fail, next, of, append, webhooks } = await withEvents();
  for (const number of [1, 2, 3]) await fail(number, 0);
  await log.advance(one, 3);
  await append('8', '9', '10');
  const most = (maxEvents: number) => log.giveUp(one, { before: 0, maxEvents });

  expect(await most(6)).toEqual({ tooOld: 0, tooMany: 0, position: 3 });
  expect(await most(5)).toEqual({ tooOld: 0, tooMany: 1, position: 3 });
  expect(next()).toEqual([2]);
  expect(await most(2)).toEqual({ tooOld: 0, tooMany: 3, position: 4 });

  expect(next()).toEqual([]);
  expect(webhooks.logged(one, 9).map(({ number }) => number)).toEqual([5, 6]);
  expect(of(one)).toMatchObject({ waiting: 2, givenUp: 4, maxEvents: 2 });
});

it('a new run makes everything due except what follows an unsent event', async () => {
  const { webhooks, fail } = await withEvents();
  for (const number of [1, 2]) await fail(number, 99_000);
  await webhooks.makeAllDue(one);
  expect(webhooks.next(one, 10)).toMatchObject([{ number: 1, dueAt: 0 }]);
});

it('a forgotten webhook loses its secret and events, even in an attempt', async () => {
  const { log, webhooks, urls, append, of } = make();
  await webhooks.setUp(one, { secret: new Secret('first'), keepOld: false });
  await log.begin(one);
  await log.begin(two);
  await append('1', '2');
  expect(webhooks.signing(two)).toBeUndefined();
  expect(urls()).toEqual([one, two]);

  expect(await webhooks.forget(one)).toBe(2);
  await webhooks.settle(one, { position: 2, trouble, sent: [], unsent: [] });
  await log.advance(one, 2);

  expect(webhooks.signing(one)).toBeUndefined();
  expect(urls()).toEqual([two]);
  expect(of(two)?.waiting).toBe(2);
});

it.each([
  ['https://example.org/', /^https:\/\/example\.org\/$/],
  ['https://example.org/adverts', /^https:\/\/example\.org\/ad…\w{4}$/],
  ['https://example.org/hunter2', /^https:\/\/example\.org\/hu…\w{4}$/],
  ['https://example.org/?key=hunter2', /^https:\/\/example\.org\/…\w{4}$/],
  ['https://hooks.example/services/T000/B000/hunter2', /^https:\/\/hooks\.example\/se…\w{4}$/],
])('an address shows no part that may be a secret: %s', (url, shown) => {
  expect(shownUrl(url)).toMatch(shown);
});

it.each([
  ['https://example.org/?key=a', 'https://example.org/?key=b'],
  ['https://example.org/adverts', 'https://example.org/advert5'],
])('two addresses are shown differently: %s and %s', (one, other) => {
  expect(shownUrl(one)).not.toBe(shownUrl(other));
});
