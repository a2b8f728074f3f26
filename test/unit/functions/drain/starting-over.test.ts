import { describe, expect, it } from 'vitest';
import { createDrain } from '../../../../functions/drain/drain.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createLimitedClient, createPartnerReaders } from '../../../../shared/partner-api/partner-service.ts';
import type { Answer } from '../../../../shared/partner-api/transport.ts';
import { createInMemoryState } from '../../../fakes/state.ts';
import { createVirtualClock } from '../../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { feedState, partnerAccount } from '../../../helpers/records.ts';

const page: Answer = {
  status: 200,
  head: { headers: {} },
  body: '{"data":[],"hasMore":false,"nextCursor":"new"}',
};
const forbidden: Answer = { status: 403, head: { headers: {} }, body: '' };

/** Three partner accounts with a cursor, a real client and rate limiter, and a service that answers as it is told to. */
async function setUp(cursor: string | null = 'old') {
  const clock = createVirtualClock();
  const observer = createRecordingObserver();
  const state = createInMemoryState({ clock });
  for (const name of ['main', 'shop', 'beta']) {
    await state.partnerAccounts.add(partnerAccount({ name }));
    await state.feedStates.register(
      feedState({ partnerAccount: name, ...(cursor === null ? {} : { cursor }) }),
    );
  }
  const paths: string[] = [];
  const service = { paths, answer: (_hasCursor: boolean): Answer => page };
  const client = createLimitedClient({
    baseUrl: 'https://service.example',
    settings: { maxRequestsPerSecond: 10, circuitSeconds: 1_800, maxPauseSeconds: 3_600 },
    budgetStore: state.budgetStore,
    clock,
    observer,
    transport: {
      async send({ path }) {
        paths.push(path);
        return service.answer(path.includes('cursor='));
      },
      close: () => undefined,
    },
  });
  const token = { token: new Secret('access'), version: '1' };
  const tokens = {
    current: async () => token,
    reject: () => undefined,
  };
  let ids = 0;
  const drain = createDrain({
    accounts: state.partnerAccounts,
    feedStates: state.feedStates,
    reader: createPartnerReaders({ client, tokens }),
    queue: state.queue,
    deadLetters: state.deadLetters,
    aside: state.aside,
    bridgePausedUntil: async () => 0,
    observer,
    clock,
    newId: () => `id${++ids}`,
    holder: 'drain',
    settings: { overlapSeconds: 300, leaseMs: 90_000, maxWaiting: 100, pollSeconds: 60, feedsAtOnce: 3 },
  });
  async function round() {
    const running = drain.round({ deadlineMs: clock.now() + 60_000 });
    await clock.run();
    return (await running).polls.map(({ end }) => end);
  }
  return { clock, service, observer, state, round };
}

describe('cursors of several partner accounts, rejected with 403 in the same run', () => {
  it('are started over, each by itself, and the circuit stays closed', async () => {
    const { service, observer, state, round } = await setUp();
    service.answer = (hasCursor) => (hasCursor ? forbidden : page);

    expect(await round()).toEqual(['up-to-date', 'up-to-date', 'up-to-date']);

    expect(observer.counted(metrics.circuitOpened)).toBe(0);
    expect(await state.budgetStore.read()).not.toHaveProperty('suspect');
    expect(observer.counted(metrics.cursorResets)).toBe(3);
  });

  it('open the circuit when the requests without a cursor are forbidden, too', async () => {
    const { service, observer, round } = await setUp();
    service.answer = () => forbidden;

    await round();

    expect(observer.counted(metrics.circuitOpened)).toBe(1);
  });

  it('end the circuit when that is what its trial meets', async () => {
    const { clock, service, observer, state, round } = await setUp();
    service.answer = () => forbidden;
    await round();
    clock.advance(1_800_000);
    service.answer = (hasCursor) => (hasCursor ? forbidden : page);

    await round();

    expect(observer.counted(metrics.circuitOpened)).toBe(1);
    expect(await state.budgetStore.read()).not.toHaveProperty('holds');
    clock.advance(60_000);
    expect(await round()).toEqual(['up-to-date', 'up-to-date', 'up-to-date']);
  });
});

describe('a feed without a cursor', () => {
  it('is not asked again when its request is refused as a cursor would be', async () => {
    const { service, observer, round } = await setUp(null);
    service.answer = () => ({ status: 410, head: { headers: {} }, body: '' });

    expect(await round()).toEqual(['fault', 'fault', 'fault']);

    expect(service.paths).toHaveLength(3);
    expect(observer.counted(metrics.cursorResets)).toBe(0);
  });
});

describe('a stored cursor that cannot be one', () => {
  it.each([
    ['longer than 4 KB', 'x'.repeat(4_097)],
    ['longer than 4 KB in UTF-8', 'ż'.repeat(2_049)],
    ['not well-formed', 'x\ud800'],
  ])('is not sent when it is %s: reading starts over', async (_what, cursor) => {
    const { service, observer, state, round } = await setUp(cursor);

    expect(await round()).toEqual(['up-to-date', 'up-to-date', 'up-to-date']);

    expect(service.paths.filter((path) => path.includes('cursor='))).toEqual([]);
    expect(observer.counted(metrics.cursorResets)).toBe(3);
    expect((await state.feedStates.list()).map((feed) => feed.cursor)).toEqual(['new', 'new', 'new']);
  });

  it('is sent when it has 4 KB', async () => {
    const { service, observer, round } = await setUp('x'.repeat(4_096));

    await round();

    expect(service.paths.every((path) => path.includes('cursor=xxx'))).toBe(true);
    expect(observer.counted(metrics.cursorResets)).toBe(0);
  });
});
