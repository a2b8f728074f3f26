/**
 * What a newer release has stored, met by these sources after somebody went back too far: it is left as it is, with a
 * sentence that says so, and goes on once the newer release is deployed again. The form is the newer one's here, and all the rest as
 * the last release has left it.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createFakeService } from '../helpers/fake-service.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import type { Kept } from './kept.ts';
import { ids } from './meaning.ts';
import { fileOf, releases } from './releases.ts';
import { startBridge } from './running.ts';
import { type Aws, type StackState, stackStore, startAws } from './stores.ts';

const release = releases.at(-1) ?? { version: '', commit: '' };
const kept: Kept = JSON.parse(fileOf(release, 'stack.json'));
const { state: last } = kept as Required<Kept>;
const newerText = (text: string): string => JSON.stringify({ ...JSON.parse(text), form: 2 });
const refusal = /form: expected at most 1: a newer Advert Bridge wrote this\. Deploy that version again/;

let aws: Aws;
let clock: ReturnType<typeof createManualClock>;
beforeAll(async () => {
  aws = await startAws();
});
afterAll(() => aws.stop());
beforeEach(() => {
  clock = createManualClock(kept.now + 3_600_000);
});

/** The bridge over the last state of the release, changed. */
async function bridgeOver(change: Partial<StackState>) {
  const store = await stackStore(aws, clock, { ...last, ...change });
  const service = createFakeService(clock);
  for (const id of ids) service.know(id, 'other');
  return { ...store, service, bridge: startBridge(store, service, clock, 'now') };
}

type Item = StackState['feedState'][number];
const newer = (items: readonly Item[], which: (item: Item) => boolean = () => true): Item[] =>
  items.map((item) => (which(item) ? { ...item, form: { N: '2' } } : item));
const isOf = (kind: string) => (item: Item) => item.pk?.S === kind;
const generation = Number(last.feedState.find((item) => item.sk?.S === 'main')?.generation?.N);
const key = { partnerAccount: 'main', generation };

it('rows are not read, and not written over', async () => {
  const feedState = newer(last.feedState, (item) => !/^parked|books/.test(item.pk?.S ?? ''));
  const advertStatus = newer(last.advertStatus);
  const { state, bridge, dump } = await bridgeOver({ feedState, advertStatus });

  await expect(state.partnerAccounts.read('main')).rejects.toThrow(refusal);
  await expect(state.feedStates.list()).rejects.toThrow(refusal);
  await expect(state.budgetStore.read()).rejects.toThrow(refusal);
  await expect(state.advertHistories.read({ ...key, feed: 'adverts', advertId: '7' })).rejects.toThrow(
    refusal,
  );
  await bridge.work();
  const after = await dump();
  expect(after.advertStatus).toEqual(expect.arrayContaining(advertStatus));
  expect(after.feedState.filter(isOf('account'))).toEqual(
    expect.arrayContaining(feedState.filter(isOf('account'))),
  );
  expect(after.queue).toHaveLength(last.queue.length);
  expect(after.deadLetters).toHaveLength(last.deadLetters.length);
  expect(bridge.events.accepted).toEqual([]);
});

it('progress of audits and backfills is not gone on with', async () => {
  const feedState = last.feedState.map((item) => ({
    ...item,
    ...(item.audit?.S && { audit: { S: newerText(item.audit.S) } }),
    ...(item.backfill?.S && { backfill: { S: newerText(item.backfill.S) } }),
  }));
  const { state } = await bridgeOver({ feedState });

  await expect(state.audits.read(key)).rejects.toThrow(refusal);
  await expect(state.backfills.read(key)).rejects.toThrow(refusal);
});

it('secrets are neither used nor replaced', async () => {
  const values = Object.entries(last.secrets);
  const secrets = Object.fromEntries(
    values.map(([name, { text, version }]) => [name, { text: newerText(text), version }]),
  );
  const { state, bridge, service, dump } = await bridgeOver({ secrets });

  await expect(state.vault.read('main')).rejects.toThrow(refusal);
  await expect(state.applicationSecret.read()).rejects.toThrow(refusal);
  clock.advance(86_400_000);
  expect(await bridge.refreshToken.sweep(bridge.options())).toMatchObject({ refreshed: [] });
  expect(service.grants).toEqual([]);
  expect((await dump()).secrets).toEqual(secrets);
});

it('messages wait in the queue with those behind them; other adverts go on', async () => {
  const first = last.queue.find(({ groupId }) => groupId === 'main/7');
  if (!first) throw new Error('the release has left no message of advert 7');
  const again = { ...first, body: first.body.replaceAll(/"key":"[^"]*"/g, '"key":"again:1"') };
  const queue = [
    { ...first, body: newerText(first.body) },
    again,
    ...last.queue.filter((message) => message !== first),
  ];
  const { bridge, dump, observer } = await bridgeOver({ queue });
  const waits = (await dump()).queue
    .filter(({ groupId }) => groupId === first.groupId)
    .map(({ body }) => body);
  expect(waits.length).toBeGreaterThan(1);

  await bridge.work();

  const after = await dump();
  const left = after.queue.filter(({ groupId }) => groupId === first.groupId).map(({ body }) => body);
  expect(left).toEqual(waits);
  expect(after.queue.length).toBeLessThan(queue.length);
  expect(after.deadLetters).toHaveLength(last.deadLetters.length);
  expect(observer.counted('NeedsAttention')).toBe(1);
  expect(bridge.events.accepted.length).toBeGreaterThan(0);
  const published = bridge.events.accepted.map((text) => JSON.parse(text).resources[0]);
  expect(published).not.toContain('advert-bridge/main/advert/7');
});

it('parked messages stay where they are, and others are released', async () => {
  const isParked = ({ pk }: Item) => pk?.S === 'parked/resting';
  const parked = last.feedState.filter(isParked);
  const [first = {}] = parked;
  const feedState = last.feedState.map((item) =>
    item === first ? { ...item, body: { S: newerText(item.body?.S ?? '') } } : item,
  );
  const { state, dump } = await bridgeOver({ feedState });

  const released = await state.parked.release('resting', { most: 100, deadlineMs: clock.now() + 60_000 });

  expect(released).toBe(parked.length - 1);
  const after = await dump();
  expect(after.feedState.filter(isParked).map(({ sk }) => sk)).toEqual([first.sk]);
  expect(after.feedState.filter(isOf('parked')).map(({ sk }) => sk?.S)).toContain('resting');
  expect(after.deadLetters).toHaveLength(last.deadLetters.length);
});

it('dead letters are shown as such, and a redrive leaves them', async () => {
  const letters = last.deadLetters.map(({ body, groupId }) => ({ body: newerText(body), groupId }));
  const { redrive, dump } = await bridgeOver({ deadLetters: letters });

  expect(await redrive()).toBe(0);
  expect((await dump()).deadLetters).toEqual(letters);
});
