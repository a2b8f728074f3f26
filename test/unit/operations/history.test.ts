import { describe, expect, it } from 'vitest';
import { type HistoryPorts, readHistory } from '../../../operations/history/read-history.ts';
import type { DeadLetter } from '../../../shared/contract/messages.ts';
import { advertEvent } from '../../../shared/domain/advert-event.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import type { WaitingMessage } from '../../../shared/ports/waiting-messages.ts';
import type { AdvertRow } from '../../../shared/state/advert-histories.ts';
import { serviceHold, stopped } from '../../helpers/holds.ts';
import { changedAdvert, deadLetter, feedState, partnerAccount } from '../../helpers/records.ts';

const noon = Date.parse('2026-11-20T12:00:00Z');
const message = changedAdvert({ correlationId: 'page-2' });
const earlier = changedAdvert({ correlationId: 'page-1' });

/** Event 3, active after new, of the page before. */
const envelope = JSON.stringify(
  advertEvent(earlier, {
    bridge: 'AdvertBridge',
    status: 'active',
    previousStatus: 'new',
    sequence: 3,
    observedAt: noon,
  }),
);
const active: AdvertRow = {
  ...{ sequence: 3, status: 'active', envelope, by: earlier.key },
  pending: false,
  etag: 'absent',
};
const noEvent: AdvertRow = { sequence: 0, status: null, pending: false, etag: 'absent' };
const queued: WaitingMessage = { message, place: 'queue', receives: 0 };
const parked: WaitingMessage = { message, place: 'aside', receives: 0 };
const letter = deadLetter({ message, at: '2026-11-20T12:01:00.000Z', reason: 'the answer has no status' });
const stop = stopped('refresh-token-rejected', Date.parse('2026-11-20T12:02:00Z'));

interface Knowledge {
  readonly account?: Partial<PartnerAccount>;
  readonly row?: AdvertRow;
  readonly waiting?: readonly WaitingMessage[];
  readonly letters?: readonly DeadLetter[];
  readonly budget?: Awaited<ReturnType<HistoryPorts['budgetStore']['read']>>;
  readonly hiddenQueue?: HistoryPorts['hiddenQueue'];
  readonly isAtWork?: boolean;
  readonly published?: Awaited<ReturnType<HistoryPorts['settings']>>;
}

/** The answer of `history` five minutes after noon. */
function historyOf({
  account,
  row,
  waiting = [],
  letters = [],
  budget,
  published = {},
  hiddenQueue,
  isAtWork = true,
}: Knowledge) {
  const ports: HistoryPorts = {
    partnerAccounts: {
      read: async () => partnerAccount(account),
      list: async () => [partnerAccount(account)],
    },
    feedStates: { list: async () => [feedState({ lastSuccess: noon + 240_000 })] },
    budgetStore: { read: async () => budget ?? { nextSlotMs: 0, pausedUntilMs: 0 } },
    advertHistories: { read: async () => row },
    waitingMessages: { ofAdvert: async () => waiting },
    deadLetters: {
      list: async () => ({
        letters: letters.map((one, index) => ({ id: String(index), letter: one })),
        unseen: 0,
      }),
    },
    settings: async () => published,
    ...(hiddenQueue && { hiddenQueue }),
    isDelivering: () => isAtWork,
  };
  return readHistory(ports, { partnerAccount: 'main', advertId: '123' }, noon + 300_000);
}

describe('the answer of history', () => {
  it.each<[string, Knowledge, string]>([
    [
      'published',
      { row: active },
      'Event 3 of advert 123 (active, before: new), observed at 2026-11-20T12:00:00.000Z, was published, nothing of the advert waits, and the feed, read to its end at 2026-11-20T12:04:00.000Z, has named no later change, or none that is another status.',
    ],
    [
      'published',
      { row: active, account: stop },
      'Event 3 of advert 123 (active, before: new), observed at 2026-11-20T12:00:00.000Z, was published, nothing of the advert waits, and the feed, read to its end at 2026-11-20T12:04:00.000Z, has named no later change, or none that is another status; what changed after that is not known, because partner account main has been stopped since 2026-11-20T12:02:00.000Z (refresh-token-rejected).',
    ],
    [
      'kept-off',
      { row: active, published: { publishStatuses: ['sold'] } },
      'Event 3 of advert 123 (active, before: new), observed at 2026-11-20T12:00:00.000Z, was recorded and not published, because the setting publishStatuses (sold) names neither of its statuses.',
    ],
    [
      'kept-off',
      { row: active, published: { publishPartnerAccounts: ['shop'] } },
      'Event 3 of advert 123 (active, before: new), observed at 2026-11-20T12:00:00.000Z, was recorded and not published, because the setting publishPartnerAccounts (shop) does not name main.',
    ],
    [
      'not-accepted',
      { row: { ...active, pending: true } },
      'Event 3 of advert 123 (active, before: new), observed at 2026-11-20T12:00:00.000Z, was recorded, but the bus may not have accepted it: it is published before anything else when its message comes again, or the feed lists the advert again.',
    ],
    [
      'waits-in-queue',
      { waiting: [queued] },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits in the queue; its first event follows.',
    ],
    [
      'waits-in-queue',
      { row: { ...active, tries: 2 }, waiting: [{ ...queued, receives: 3, until: noon + 310_000 }] },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits in the queue: it failed 2 times, and is tried again at 2026-11-20T12:05:10.000Z; event 4 follows unless the advert is still active.',
    ],
    [
      'waits-in-queue',
      { waiting: [{ ...queued, receives: 1 }] },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits in the queue: it was delivered once, and is tried again within minutes unless it is being fetched now; its first event follows.',
    ],
    [
      'waits-in-queue',
      { waiting: [queued], budget: { nextSlotMs: 0, holds: [serviceHold('circuit', noon + 600_000)] } },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits in the queue because the partner service blocks this address, and nothing is asked of it until 2026-11-20T12:10:00.000Z; its first event follows.',
    ],
    [
      'unconfirmed',
      { row: { ...active, missingSince: noon + 290_000 }, waiting: [queued] },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z, but the partner service said at 2026-11-20T12:04:50.000Z that it does not know it: it is asked once more before an event says that the advert is unavailable.',
    ],
    [
      'aside',
      { waiting: [parked], account: stop },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits outside the queue because partner account main has been stopped since 2026-11-20T12:02:00.000Z (refresh-token-rejected); its first event follows.',
    ],
    [
      'aside',
      { waiting: [parked] },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits outside the queue, from where it is put back within a minute; its first event follows.',
    ],
    [
      'aside',
      {
        waiting: [parked],
        account: { holds: [{ kind: 'operator', who: 'ana', since: noon, reason: 'migration' }] },
      },
      'Advert 123 was listed at 2026-11-20T12:00:00.000Z and waits outside the queue because partner account main is paused until it is resumed (by ana since 2026-11-20T12:00:00.000Z: migration); its first event follows.',
    ],
    [
      'dead-lettered',
      { row: active, letters: [letter] },
      'The change of advert 123 listed at 2026-11-20T12:00:00.000Z was given up at 2026-11-20T12:01:00.000Z after event 3 (contract-broken: the answer has no status), and has no event until its dead letter is redriven.',
    ],
    [
      'dropped',
      { row: noEvent },
      'Advert 123 has no event: what the feed listed of it was given up, and its dead letter was dropped.',
    ],
    [
      'not-listed',
      {},
      'Advert 123 has not been listed by the feed since partner account main was connected at 2026-11-20T12:00:00Z: the feed was read to its end at 2026-11-20T12:04:00.000Z.',
    ],
  ])('is, where it is %s: %#', async (outcome, knowledge, answer) => {
    expect(await historyOf(knowledge)).toMatchObject({ outcome, answer });
  });

  it('tells of the page that named the advert again, where the log has it', async () => {
    const text = JSON.stringify({
      level: 'INFO',
      message: 'batch handled',
      pages: [{ partnerAccount: 'main', correlationId: 'page-2', adverts: { unchanged: ['123'] } }],
    });
    const line = { atMs: noon + 60_000, from: 'fan-out' as const, text };
    const hiddenQueue = { length: async () => 0, readLog: async () => [line] };

    expect((await historyOf({ row: active, hiddenQueue })).answer).toContain(
      '(it was listed again by page page-2, and found unchanged at 2026-11-20T12:01:00.000Z)',
    );
  });

  it('says that nobody is at work, where a bridge does not run by itself', async () => {
    expect((await historyOf({ waiting: [queued], isAtWork: false })).answer).toContain(
      'waits in the queue because no `run` is at work on this bridge',
    );
  });

  it('passes over a letter that is older than the latest event, and one of an earlier generation', async () => {
    const old = { ...letter, at: '2026-11-20T11:59:00.000Z' };
    const ofEarlier = { ...letter, message: { ...message, generation: 1 } };

    const history = await historyOf({ row: active, letters: [old, ofEarlier] });

    expect(history.outcome).toBe('published');
    expect(history.deadLetters).toHaveLength(2);
  });

  it('leaves out messages of an earlier generation: they are let go', async () => {
    const ofEarlier = { ...queued, message: { ...message, generation: 1 } };

    expect(await historyOf({ waiting: [ofEarlier] })).toMatchObject({ waiting: [], outcome: 'not-listed' });
  });
});
