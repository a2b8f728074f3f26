import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  endpointAnswered,
  publishOwedEvents,
  stopped,
  withToken,
} from '../../../../functions/refresh-token/account-writes.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { BudgetState } from '../../../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { createInMemoryEvents } from '../../../fakes/event-publisher.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { tokenHold } from '../../../helpers/holds.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { partnerAccount, tokenPair } from '../../../helpers/records.ts';

const observedAt = Date.parse('2026-11-21T00:00:00Z');
const moment = { bridge: 'AdvertBridge', observedAt };
const token = { version: '1', expiresAt: 1, usedAt: 2 };
const account = (change: Partial<PartnerAccount> = {}) => partnerAccount({ token, ...change });
const stop: Hold = { kind: 'authorization', since: observedAt, reason: 'refresh-token-rejected' };
const events = ({ owedEvents = [] }: PartnerAccount) => owedEvents.map((envelope) => JSON.parse(envelope));

it('a stop is a hold and an event, which names the token and the bridge', () => {
  const row = stopped(account({ owedEvents: ['"before"'] }), 'refresh-token-rejected', moment);

  expect(row).toEqual({
    ...account({ owedEvents: ['"before"', row.owedEvents?.[1] ?? ''] }),
    ...{ holds: [stop], unanswered: true },
  });
  expect(events(row)[1]).toMatchObject({
    'detail-type': 'PartnerAuthorizationRequired',
    detail: {
      metadata: {
        ...{ eventId: 'main/1763640000/authorization-required/1', bridge: 'AdvertBridge' },
        observedAt: '2026-11-21T00:00:00.000Z',
      },
      data: { reason: 'refresh-token-rejected' },
    },
  });
  expect(stopped(row, 'scope-insufficient', moment)).toBe(row);
  // An account that was moved keeps the name of its bridge, and one without a token has no version.
  const moved = stopped(partnerAccount({ bridge: 'Folder' }), 'disconnected', moment);
  expect(events(moved)[0].detail.metadata).toMatchObject({
    ...{ bridge: 'Folder', eventId: 'main/1763640000/authorization-required/' },
  });
});

const pause: Hold = { kind: 'operator', since: 0 };
/** Made by the answers of the service, not for want of a token. */
const blamed: Hold = { ...tokenHold(9e12), fault: 'token-rejected' };
const pair = tokenPair({ expiresAt: 3, obtainedAt: 4 });
const newToken = { version: '2', expiresAt: 3, usedAt: 4 };
it.each<[string, Partial<PartnerAccount>, string, Partial<PartnerAccount>]>([
  ['has its version and times', {}, '2', { token: newToken }],
  [
    'does not keep whom the one before was issued for',
    { token: { ...token, issuedFor: 7 } },
    '2',
    { token: newToken },
  ],
  [
    'that came again keeps it',
    { token: { ...token, issuedFor: 7 } },
    '1',
    { token: { ...newToken, version: '1', issuedFor: 7 } },
  ],
  [
    'ends a stop, a forgetting and the want of one',
    { holds: [stop, pause, tokenHold(9e12)], forgetting: true },
    '2',
    { token: newToken, holds: [pause] },
  ],
  [
    'that came again ends the want of one',
    { holds: [stop, tokenHold(9e12)], forgetting: true, unanswered: true },
    '1',
    { token: { ...newToken, version: '1' }, holds: [stop], forgetting: true, unanswered: true },
  ],
  ['does not end what the answers have made', { holds: [blamed] }, '2', { token: newToken, holds: [blamed] }],
])('a newer token %s', (_rule, before, version, after) => {
  expect(withToken(account(before), version, pair, moment)).toEqual(account(after));
});

it('a newer token is announced if its stop was', () => {
  const row = withToken(account({ unanswered: true, holds: [stop] }), '2', pair, moment);

  expect(row).toEqual(account({ token: newToken, owedEvents: row.owedEvents ?? [] }));
  expect(events(row)).toMatchObject([
    {
      'detail-type': 'PartnerAuthorizationRestored',
      detail: {
        metadata: { eventId: 'main/1763640000/authorization-restored/2' },
        data: { reason: 'connected-again' },
      },
    },
  ]);
});

it('owed events are published until one is refused, and removed singly', async () => {
  const partnerAccounts = createPartnerAccounts(createInMemoryStore());
  const bus = createInMemoryEvents();
  const observer = createRecordingObserver();
  const row = account({ owedEvents: ['1', '2', '3'] });
  await partnerAccounts.add({ ...row, owedEvents: ['1', '2', '3', 'since then'] });
  bus.refuse((envelope) => envelope === '2');
  const publish = () => publishOwedEvents({ partnerAccounts, events: bus, observer }, row);

  await publish();
  expect(bus.accepted).toEqual(['1']);
  expect((await partnerAccounts.read('main'))?.owedEvents).toEqual(['2', '3', 'since then']);
  expect(observer.lines).toMatchObject([
    { level: 'warn', fields: { partnerAccount: 'main', error: expect.any(Error) } },
  ]);

  bus.accept();
  await publish();
  expect((await partnerAccounts.read('main'))?.owedEvents).toEqual(['since then']);
  await partnerAccounts.change('main', () => account({ owedEvents: ['3'] }));
  await publish();
  expect(await partnerAccounts.read('main')).toEqual(account());
});

it.each<[string, Partial<BudgetState>, Partial<BudgetState> | undefined]>([
  ['ends the wait for the endpoint', { renewal: { at: 1, forMs: 2 }, holds: [pause] }, { holds: [pause] }],
  ['writes nothing when nobody waits', { holds: [tokenHold(9e12)] }, undefined],
])('a good answer of the token endpoint %s, if that can be stored', async (_rule, before, after) => {
  const bridge: BudgetState = { nextSlotMs: 7, ...before };
  let isStored = false;
  const change = async (rule: (state: BudgetState) => BudgetState) => {
    await nextTurn();
    if (after) expect(rule(bridge)).toEqual({ nextSlotMs: 7, ...after });
    else expect(rule(bridge)).toBe(bridge);
    isStored = true;
    throw new Error('throttled');
  };

  await endpointAnswered({ budgetStore: { change } });

  expect(isStored).toBe(true);
});
