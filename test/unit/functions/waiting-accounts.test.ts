import { describe, expect, it } from 'vitest';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { stopped } from '../../helpers/holds.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert, partnerAccount } from '../../helpers/records.ts';

const minutes = 10;
/** Fan-out's concurrency at the default rate (infra/constructs/fan-out.ts). */
const workers = 2;
const messagesEach = 3_000;
const stop = stopped('refresh-token-rejected');

/** Latencies (ms) of a live account that has a change a second, while so many others are stopped. */
async function latenciesBeside(
  stopped: number,
): Promise<{ median: number; worst95: number; received: number }> {
  const clock = createVirtualClock();
  const state = createInMemoryState({ clock });
  const until = clock.now() + minutes * 60_000;
  await state.partnerAccounts.add(partnerAccount({ name: 'live' }));
  for (let number = 1; number <= stopped; number += 1) {
    await state.partnerAccounts.add(partnerAccount({ name: `stopped-${number}`, ...stop }));
  }
  const publishedAt = new Map<string, number>();
  const sentAt = new Map<string, number>();
  let received = 0;
  const fanOut = createFanOut({
    accounts: new CachedAccounts(
      {
        ...state.partnerAccounts,
        async read(name) {
          await clock.sleep(5);
          return state.partnerAccounts.read(name);
        },
      },
      clock,
    ),
    histories: state.advertHistories,
    adverts: {
      async readAdvert() {
        await clock.sleep(100);
        return { status: 'active', receivedAt: clock.now() };
      },
    },
    events: {
      async publish(envelope) {
        const { advertId } = JSON.parse(envelope).detail.data;
        publishedAt.set(advertId, clock.now());
      },
    },
    bridgePausedUntil: async () => 0,
    observer: createRecordingObserver(),
    clock,
    random: () => 0.5,
    settings: {
      bridge: 'AdvertBridge',
      advertTries: 5,
      maxAgeMs: 86_400_000,
      confirmUnavailableSeconds: 30,
      fetchMs: 10_000,
    },
  });
  async function work(): Promise<void> {
    while (clock.now() < until) {
      const batch = await state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 600_000 });
      received += batch.length;
      // Lambda's time to deliver a batch and to settle it.
      await clock.sleep(batch.length > 0 ? 20 : 200);
      await state.queue.settle(await fanOut.handle(batch, { deadlineMs: clock.now() + 57_000 }));
    }
  }
  async function change(): Promise<void> {
    for (let number = 0; clock.now() < until - 30_000; number += 1) {
      const advertId = String(number);
      sentAt.set(advertId, clock.now());
      await state.queue.send([changedAdvert({ partnerAccount: 'live', advertId })]);
      await clock.sleep(1_000);
    }
  }
  for (let number = 1; number <= stopped; number += 1) {
    const name = `stopped-${number}`;
    await state.queue.send(
      Array.from({ length: messagesEach }, (_, index) =>
        changedAdvert({ partnerAccount: name, advertId: String(index) }),
      ),
    );
  }
  const all = Promise.all([change(), ...Array.from({ length: workers }, work)]);
  await clock.run();
  await all;
  const latencies = [...sentAt]
    .map(([advertId, at]) => (publishedAt.get(advertId) ?? Number.POSITIVE_INFINITY) - at)
    .sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return { median: at(0.5), worst95: at(0.95), received };
}

describe('a live partner account with two workers', () => {
  it('gets its events as fast beside three stopped ones with thousands of messages each', async () => {
    const alone = await latenciesBeside(0);
    expect(alone.median).toBeLessThan(500);
    for (const stopped of [1, 2, 3]) {
      const beside = await latenciesBeside(stopped);
      expect(beside.median).toBeLessThan(alone.median + 50);
      expect(beside.worst95).toBeLessThan(alone.worst95 + 1_000);
      // Each of theirs was received once, and parked.
      expect(beside.received - alone.received).toBe(stopped * messagesEach);
    }
  }, 30_000);
});
