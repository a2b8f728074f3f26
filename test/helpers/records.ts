import type { ChangedAdvert, DeadLetter } from '../../shared/contract/messages.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { Secret, type StoredPair } from '../../shared/domain/secret.ts';
import type { Delivery, Settlement, Verdict } from '../../shared/ports/queue.ts';
import type { FeedProblem, FeedState, Progress } from '../../shared/state/feed-states.ts';

/** A feed state as `connect` registers it. */
export const feedState = (change: Partial<FeedState> = {}): FeedState => ({
  partnerAccount: 'main',
  feed: 'adverts',
  generation: 1_763_640_000,
  since: '2026-11-20T11:55:00Z',
  resets: 0,
  resetsInARow: 0,
  ...change,
});

/** What a failed poll leaves in the feed's state. */
export const feedProblem = (change: Partial<FeedProblem> = {}): FeedProblem => ({
  kind: 'transient',
  reason: 'no answer',
  since: Date.parse('2026-11-20T12:00:00Z'),
  ...change,
});

/** Of a feed that makes no progress and is not polled for five minutes. */
export const stuckUntil = (until: number): FeedProblem =>
  feedProblem({
    ...{ kind: 'contract-broken', reason: 'three cursors rejected', needsAttention: true },
    wait: { until, forMs: 300_000, why: 'stuck' },
  });

export const progress = (change: Partial<Progress> = {}): Progress => ({
  since: '2026-11-20T11:55:00Z',
  cursor: 'cursor-1',
  resets: 0,
  resetsInARow: 0,
  counts: { listed: 0, malformed: 0, repeated: 0 },
  ...change,
});

export const partnerAccount = (change: Partial<PartnerAccount> = {}): PartnerAccount => ({
  name: 'main',
  generation: 1_763_640_000,
  connectedAt: '2026-11-20T12:00:00Z',
  ...change,
});

let lastReadId = 0;

/** A message from its own page, unless `change` says otherwise. */
export function changedAdvert(change: Partial<ChangedAdvert> = {}): ChangedAdvert {
  lastReadId += 1;
  const { advertId = '123', correlationId = `read-${lastReadId}` } = change;
  return {
    key: `${correlationId}:${advertId}`,
    partnerAccount: 'main',
    generation: 1_763_640_000,
    feed: 'adverts',
    advertId,
    listedAt: '2026-11-20T12:00:00.000Z',
    cause: 'feed',
    correlationId,
    ...change,
  };
}

export const deadLetter = (change: Partial<DeadLetter> = {}): DeadLetter => ({
  partnerAccount: 'main',
  advertId: '123',
  fault: 'contract-broken',
  reason: 'the answer has no status',
  at: '2026-11-20T12:00:00.000Z',
  receives: 1,
  message: null,
  ...change,
});

/** The dead letter of a message that is given up. */
export const deadLetterOf = (message: ChangedAdvert): DeadLetter =>
  deadLetter({ partnerAccount: message.partnerAccount, advertId: message.advertId, message });

export const settlement = (delivery: Delivery | undefined, verdict: Verdict): Settlement => {
  if (!delivery) throw new Error('there is no delivery to settle');
  return { delivery, verdict };
};

/** The message is to be put aside. */
export const heldMessage = (message: ChangedAdvert, number = 1): Settlement => ({
  delivery: { id: String(number), message, position: `${number}:1`, receives: 1, sentAt: 0 },
  verdict: { kind: 'hold' },
});

export const tokenPair = (change: Partial<StoredPair> = {}): StoredPair => ({
  accessToken: new Secret('access-1'),
  refreshToken: new Secret('refresh-1'),
  scope: 'v2 read write',
  expiresAt: Date.parse('2026-11-20T13:00:00Z'),
  obtainedAt: Date.parse('2026-11-20T12:00:00Z'),
  generation: 1_763_640_000,
  ...change,
});
