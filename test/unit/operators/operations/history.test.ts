import { expect, it } from 'vitest';
import type { Bridge } from '../../../../operators/operations/bridge.ts';
import { printedHistory } from '../../../../operators/operations/findings/history-text.ts';
import { readHistory } from '../../../../operators/operations/history.ts';
import type { DeadLetter } from '../../../../shared/contract/messages.ts';
import { advertEvent, type PublishedEvents } from '../../../../shared/domain/advert-event.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { WaitingMessage } from '../../../../shared/ports/queue.ts';
import type { AdvertRow } from '../../../../shared/state/advert-histories.ts';
import type { BudgetState } from '../../../../shared/state/budget.ts';
import { serviceHold, stopped } from '../../../helpers/holds.ts';
import { changedAdvert, deadLetter, feedState, partnerAccount } from '../../../helpers/records.ts';

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
const noEvent: AdvertRow = { sequence: 0, status: null, pending: false, etag: 'absent' };
const active: AdvertRow = { ...noEvent, sequence: 3, status: 'active', envelope, by: earlier.key };
const queued: WaitingMessage = { message, place: 'queue', receives: 0 };
const parked: WaitingMessage = { message, place: 'aside', receives: 0 };
const givenUp = deadLetter({ message, at: '2026-11-20T12:01:00.000Z', reason: 'the answer has no status' });
const stop = stopped('refresh-token-rejected', Date.parse('2026-11-20T12:02:00Z'));

interface Knowledge {
  readonly account?: Partial<PartnerAccount>;
  readonly row?: AdvertRow;
  readonly waiting?: readonly WaitingMessage[];
  readonly deadLetters?: readonly DeadLetter[];
  readonly budget?: BudgetState;
  /** Length of the queue of a stack, which cannot be inspected. */
  readonly queued?: number;
  readonly isAtWork?: boolean;
  readonly published?: PublishedEvents;
}

/** What `history` says five minutes after noon. */
async function historyOf(known: Knowledge) {
  const { account, row, waiting = [], deadLetters = [], budget = { nextSlotMs: 0 }, queued } = known;
  const { isAtWork = true, published = {} } = known;
  const bridge: unknown = {
    host: queued === undefined ? { kind: 'local', isRunning: () => isAtWork } : { kind: 'stack' },
    partnerAccounts: { read: async () => partnerAccount(account) },
    feedStates: { ofAccount: async () => [feedState({ lastSuccess: noon + 240_000 })] },
    budgetStore: { read: async () => budget },
    advertHistories: { read: async () => row },
    aside: { ofAdvert: async () => waiting },
    deadLetters: { list: async () => deadLetters },
    queue: { depth: async () => queued },
    clock: { now: () => noon + 300_000 },
    settings: async () => published,
  };
  return printedHistory(await readHistory(bridge as Bridge, { partnerAccount: 'main', advertId: '123' }));
}

const held: BudgetState = { nextSlotMs: 0, holds: [serviceHold('circuit', noon + 600_000)] };
const byAna: Partial<PartnerAccount> = {
  holds: [{ kind: 'operator', who: 'ana', since: noon, reason: 'migration' }],
};
const missing = { ...active, missingSince: noon + 290_000 };
const ofEarlier = { ...message, generation: 1 };
const waits = { waiting: [queued] };
const aside = { waiting: [parked] };
const old = { ...givenUp, at: '2026-11-20T11:59:00.000Z' };

it.each<[string, string, Knowledge, RegExp]>([
  ['published', 'the bus has it', { row: active }, /^Event 3 of advert 123 \(new → active\) was published/],
  [
    'published',
    'its account stopped later',
    { row: active, account: stop },
    /published\. The service is not asked .*main is stopped/,
  ],
  ['published', 'a dead letter is older', { row: active, deadLetters: [old] }, /was published/],
  [
    'published',
    'a dead letter is of an earlier generation',
    { row: active, deadLetters: [{ ...givenUp, message: ofEarlier }] },
    /was published/,
  ],
  [
    'published',
    'messages wait in the queue of a stack',
    { row: active, queued: 3 },
    /About 3 messages wait in the queue; SQS does not tell whose/,
  ],
  [
    'kept-off',
    'its status is not wanted',
    { row: active, published: { publishStatuses: ['sold'] } },
    /publishStatuses \(sold\)/,
  ],
  [
    'kept-off',
    'its account is not wanted',
    { row: active, published: { publishPartnerAccounts: ['shop'] } },
    /does not name main/,
  ],
  ['not-accepted', 'it is pending', { row: { ...active, pending: true } }, /may not have accepted it/],
  ['waits-in-queue', 'a message waits', waits, /waits in the queue\.$/],
  [
    'waits-in-queue',
    'it failed before',
    { row: { ...active, tries: 2, fault: 'forbidden' }, ...waits },
    /after 2 failed tries \(forbidden\)/,
  ],
  [
    'waits-in-queue',
    'the bridge is on hold',
    { ...waits, budget: held },
    /the whole bridge is .* until 2026-/,
  ],
  ['waits-in-queue', 'nobody runs the bridge', { ...waits, isAtWork: false }, /no `run` is at work/],
  ['unconfirmed', 'the service does not know it', { row: missing, ...waits }, /asked once more/],
  ['unconfirmed', 'its next look is far off', { row: missing, ...aside }, /asked once more/],
  [
    'aside',
    'the account is stopped',
    { ...aside, account: stop },
    /main is stopped \(refresh-token-rejected\)/,
  ],
  ['aside', 'the account is paused', { ...aside, account: byAna }, /main is paused by ana \(mig.* resumed/],
  [
    'aside',
    'all adverts of the account fail',
    { ...aside, account: { holds: [{ ...serviceHold('service', noon), fault: 'forbidden' }] } },
    /once the service answers any advert of main well/,
  ],
  ['aside', 'the hold is over', aside, /comes back within a minute/],
  [
    'dead-lettered',
    'it was given up',
    { row: active, deadLetters: [givenUp] },
    /contract-broken: the answer has no status/,
  ],
  ['dropped', 'its dead letter is gone', { row: noEvent }, /was dropped/],
  ['not-listed', 'the feed has not named it', {}, /has not been listed by the feed since/],
  [
    'not-listed',
    'its message is of an earlier generation',
    { waiting: [{ ...queued, message: ofEarlier }] },
    /not/,
  ],
])('the outcome of history is %s when %s', async (outcome, _, knowledge, answer) => {
  const history = await historyOf(knowledge);
  expect(history.outcome).toBe(outcome);
  expect(history.answer).toMatch(answer);
});

it('history tells what happened in order of time', async () => {
  const { facts } = await historyOf({ row: active, deadLetters: [givenUp] });
  const times = facts.map(({ at }) => Date.parse(at));
  expect(times).toEqual(times.toSorted());
  expect(facts.map(({ says }) => says).join('\n')).toMatch(/page-1[\s\S]*published[\s\S]*given up/);
});
