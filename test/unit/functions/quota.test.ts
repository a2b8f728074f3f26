import { expect, it } from 'vitest';
import { createConnect } from '../../../functions/connect/connect.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { redeliveryLimits } from '../../../functions/fan-out/advert.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import type { Answer } from '../../../shared/partner-api/transport.ts';
import { createInMemoryEvents } from '../../fakes/event-publisher.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createFakeService } from '../../helpers/fake-service.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert } from '../../helpers/records.ts';

const minuteMs = 60_000;
const settings = {
  overlapSeconds: 300,
  maxWaiting: 10_000,
  maxRequestsPerSecond: 10,
  pollSeconds: 60,
  circuitSeconds: 1_800,
  maxPauseSeconds: 3_600,
};

/** A service with so many requests in each minute; the drain runs so long after its windows begin. */
async function delays({
  quota,
  phaseMs,
  saysHowLong,
  minutes = 15,
}: {
  quota: number;
  phaseMs: number;
  saysHowLong: boolean;
  minutes?: number;
}) {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const observer = createRecordingObserver();
  const state = createInMemoryState({ clock });
  const events = createInMemoryEvents();
  const service = createFakeService(clock);
  await state.applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('hush') });
  let ids = 0;
  const common = { ...state, observer, clock, events, newId: () => `id${++ids}` };
  const connect = createConnect({
    ...common,
    client: service,
    settings: { requiredScope: 'v2 read write', bridge: 'AdvertBridge', overlapSeconds: 300 },
  });
  await connect.connect(
    { partnerAccount: 'main', refreshToken: new Secret('r') },
    { deadlineMs: startMs + minuteMs },
  );
  let [window, used] = [0, 0];
  const ill = new Map<string, number>();
  const json = (status: number, body: unknown, headers = {}): Answer => ({
    status,
    head: { headers },
    body: JSON.stringify(body),
  });
  const transport = {
    close: () => undefined,
    async send({ path }: { path: string }): Promise<Answer> {
      await clock.sleep(30);
      const now = clock.now();
      if (Math.floor(now / minuteMs) !== window) [window, used] = [Math.floor(now / minuteMs), 0];
      used += 1;
      if (used > quota) {
        const seconds = Math.ceil((minuteMs - (now % minuteMs)) / 1000);
        return json(429, {}, saysHowLong ? { 'retry-after': String(seconds) } : {});
      }
      const { pathname, searchParams } = new URL(path, 'http://x');
      const id = /adverts\/(\d+)$/.exec(pathname)?.[1];
      if (id) {
        const left = ill.get(id) ?? 0;
        ill.set(id, left - 1);
        if (left > 0) return json(500, {});
        return json(200, { data: { id: Number(id), status: service.statusOf(id) ?? 'active' } });
      }
      const { page } = await service.readPage(
        'main',
        {
          feed: { name: 'adverts' } as never,
          since: '',
          cursor: searchParams.get('cursor') ?? undefined,
          limit: Number(searchParams.get('limit')),
        },
        { deadlineMs: 0, generation: 0 } as never,
      );
      return json(200, page);
    },
  };
  const random = () => 0.5;
  const partner = createPartnerService({
    ...common,
    random,
    baseUrl: 'https://service.example',
    concurrency: 10,
    settings,
    transport,
    tokenReader: state.vault,
    requester: { refresh: async () => expect.fail('no renewal') } as never,
  });
  const fanOut = createFanOut({
    ...common,
    ...{ partnerAccounts: partner.partnerAccounts, adverts: partner, random },
    settings: {
      ...redeliveryLimits,
      ...{
        bridge: 'AdvertBridge',
        advertTries: 5,
        confirmUnavailableSeconds: 30,
        confirmUnchangedSeconds: 10,
        fetchMs: 10_000,
      },
    },
  });
  const generation = (await state.partnerAccounts.read('main'))?.generation ?? 0;
  const endMs = startMs + minutes * minuteMs;
  const pieces: Promise<unknown>[] = [];
  // A backfill keeps 500 messages in the queue.
  let next = 100_000;
  const fill = async () => {
    for (; clock.now() < endMs; await clock.sleep(1_000)) {
      const room = 500 - (await state.queue.depth('main'));
      const messages = Array.from({ length: Math.max(0, room) }, () =>
        changedAdvert({ advertId: String(next++), generation, cause: 'backfill' }),
      );
      await state.queue.send(messages);
    }
  };
  const work = async () => {
    while (clock.now() < endMs) {
      const batch = await state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 600_000 });
      if (batch.length > 0)
        await state.queue.settle(await fanOut.handle(batch, { deadlineMs: clock.now() + 57_000 }));
      await clock.sleep(batch.length > 0 ? 20 : 200);
    }
  };
  const drainLoop = async () => {
    await clock.sleep(phaseMs);
    while (clock.now() < endMs) {
      const now = clock.now();
      const drain = createDrain({
        ...common,
        ...{ reader: partner, partnerAccounts: partner.partnerAccounts, holder: 'drain', settings },
      });
      const run = drain.run({ deadlineMs: now + 87_000, nextRunMs: now + minuteMs });
      pieces.push(run);
      await clock.sleep(minuteMs);
    }
  };
  // After three minutes: a change, and a message that fails twice.
  const illAt: Promise<void> = (async () => {
    await clock.sleep(3 * minuteMs + 5_000);
    service.change('7', 'active');
    service.know('8', 'active');
    ill.set('8', 4);
    await state.queue.send([changedAdvert({ advertId: '8', generation })]);
  })();
  pieces.push(fill(), work(), work(), drainLoop(), illAt);
  await clock.run(endMs + minuteMs);
  await Promise.all(pieces);
  const at = (advertId: string) => {
    const found = events.accepted
      .map((text) => JSON.parse(text) as AdvertEvent)
      .find(({ detail }) => (detail.data as { advertId?: string }).advertId === advertId);
    return found
      ? (Date.parse(found.detail.metadata.observedAt) - startMs - 185_000) / 1000
      : Number.POSITIVE_INFINITY;
  };
  return { change: at('7'), failed: at('8') };
}

it.each([true, false].flatMap((says) => [1, 15, 35, 45, 55].map((second) => [says, second] as const)))(
  'a limit a minute (Retry-After: %s) delays little: runs at second %i',
  async (saysHowLong, second) => {
    const { change, failed } = await delays({ quota: 300, phaseMs: second * 1_000, saysHowLong });
    expect(change).toBeLessThan(4 * 60);
    expect(failed).toBeLessThan(9 * 60);
  },
);
