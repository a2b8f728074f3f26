import type { Hold } from '../../shared/domain/holds.ts';
import { withHold, withoutHolds } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { BudgetStore } from '../../shared/state/budget.ts';

/** The hold of an account that has no usable token. */
export const tokenHold = (until: number, reason = 'tired'): Hold => ({
  kind: 'token',
  since: 0,
  until,
  reason,
});

/** Part of the row of an account whose user has to authorize again. */
export const stopped = (reason: string, since = Date.parse('2026-11-20T12:00:00Z')) => ({
  holds: [{ kind: 'authorization', since, reason } satisfies Hold],
});

/** The hold that is open because of 403, or that the service asked for. */
export const serviceHold = (kind: 'service' | 'circuit', until: number): Hold => ({
  ...{ kind, since: 0, until, reason: 'the service asked for a pause' },
  fault: kind === 'circuit' ? 'forbidden' : 'rate-limited',
});

export const holdBridge = (store: BudgetStore, hold: Hold) => store.change((state) => withHold(state, hold));

export const freeBridge = (store: BudgetStore) => store.change((state) => withoutHolds(state, () => true));

export const holdOf = (account: PartnerAccount | undefined, kind: Hold['kind']): Hold | undefined =>
  account?.holds?.find((hold) => hold.kind === kind);
