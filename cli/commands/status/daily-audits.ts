/** The part of `status` about the daily audit of an embedded bridge. A stack has an alarm instead. */
import type { AccountStatus } from '../../../operations/account-status.ts';
import type { Status } from '../../../operations/status.ts';
import { are } from '../../shared/wording.ts';
import type { AuditedPorts } from '../../targets/open.ts';

/** The latest daily audit of a partner account, as printed by `status --json`. */
export interface ShownAudit {
  readonly state: 'running' | 'done';
  readonly startedAt: string;
  /** Adverts that were compared. */
  readonly checked: number;
  /** IDs of adverts whose latest event differs from the service's answer. */
  readonly differing: readonly string[];
  readonly undecided: number;
}

/** Absent if no daily audit was started. */
export type AuditedAccount = AccountStatus & { readonly dailyAudit?: ShownAudit };
export type AuditedStatus = Status & { readonly partnerAccounts: readonly AuditedAccount[] };

/** An audit starts every day. An older result means that the audit was switched off, so its findings are ignored. */
const maxAgeMs = 48 * 60 * 60_000;

/** Adds to the status the daily audit of each partner account, and what the operator has to do about it. */
export async function withDailyAudits(
  status: Status,
  { dailyAudits }: AuditedPorts,
  nowMs: number,
): Promise<AuditedStatus> {
  if (!dailyAudits) return status;
  const partnerAccounts = await Promise.all(
    status.partnerAccounts.map(async (account): Promise<AuditedAccount> => {
      const { name: partnerAccount, generation } = account;
      const stored = await dailyAudits.read({ partnerAccount, generation });
      if (!stored) return account;
      const { state, startedAt, checked, differing, undecided } = stored.value;
      const dailyAudit = {
        ...{ state, startedAt, checked },
        differing: differing.map(({ advertId }) => advertId),
        undecided: undecided.length,
      };
      const isLeft = differing.length > 0 && nowMs - Date.parse(startedAt) < maxAgeMs;
      if (!isLeft) return { ...account, dailyAudit };
      const attention = [...account.attention, 'audit-differences'];
      return { ...account, dailyAudit, attention, needsPerson: true };
    }),
  );
  return { ...status, partnerAccounts };
}

export function auditText({ state, startedAt, checked, differing, undecided }: ShownAudit): string {
  const adverts = are(checked, 'advert', 'adverts');
  const differ = differing.length === 0 ? 'none differs' : are(differing.length, 'differs', 'differ');
  const rest = undecided === 0 ? '' : `, ${are(undecided)} undecided`;
  return `${adverts} compared ${state === 'running' ? 'so far ' : ''}since ${startedAt}, ${differ}${rest}`;
}
