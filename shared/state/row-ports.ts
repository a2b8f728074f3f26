import type { Store } from '../ports/store.ts';
import { createActivityStore } from './activity.ts';
import { createAdvertHistories } from './advert-histories.ts';
import { createAside } from './aside.ts';
import { createBudgetStore } from './budget.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createFeedStates } from './feed-states.ts';
import { createPartnerAccounts } from './partner-accounts.ts';
import {
  type AuditProgress,
  type AuditShare,
  type BackfillProgress,
  createAuditResults,
  createProgress,
} from './progress.ts';

export type RowPorts = ReturnType<typeof rowPorts>;

/** The ports that are rows of the store alone. */
export function rowPorts(rows: Store) {
  return {
    advertHistories: createAdvertHistories(rows),
    aside: createAside(rows),
    feedStates: createFeedStates(rows),
    partnerAccounts: createPartnerAccounts(rows),
    deadLetters: createDeadLetters(rows),
    audits: createProgress<AuditProgress>(rows, 'audit'),
    auditResults: createAuditResults(rows),
    auditShares: createProgress<AuditShare>(rows, 'audit-share'),
    backfills: createProgress<BackfillProgress>(rows, 'backfill'),
    budgetStore: createBudgetStore(rows),
    activity: createActivityStore(rows),
  };
}
