/** The scheduled audit: one sample of every partner account per day, spread over as many runs as necessary. */
import { ShapeError } from '../../shared/contract/checks.ts';
import { metrics } from '../../shared/contract/names.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import { operatorPauseOf } from '../../shared/domain/operator-pause.ts';
import { type PartnerAccount, pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { PublishedAdverts } from '../../shared/ports/advert-histories.ts';
import type { AuditProgress } from '../../shared/ports/audits.ts';
import type { BackfillKey, Versioned } from '../../shared/ports/backfills.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { type AuditDeps, audit } from './audit.ts';
import { looksAtOnce } from './confirm.ts';
import { askFeed, isEqual, lookAt } from './looks.ts';
import { createPacedRequests, OutOfTimeError } from './paced-requests.ts';
import { sampleSource } from './sources.ts';

export interface DailyAuditDeps extends Omit<AuditDeps, 'isDelivering' | 'onProgress'> {
  readonly accounts: Pick<PartnerAccounts, 'list'>;
  readonly publishedAdverts: PublishedAdverts;
  readonly observer: Observer;
  /** Number of adverts of each partner account that are compared per day. */
  readonly sample: number;
}

export interface DailyAuditOptions {
  /** Ms since 1970: work that is not done by then is left to the next run. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

const dayMs = 24 * 60 * 60_000;
/** Page size: as many adverts as are looked at concurrently, so that little work is repeated when a run ends. */
const pageSize = looksAtOnce;
/** Maximum number of differences to look at again in one run; the next run continues with the others. */
const maxRechecked = 100;
const maxNamed = 20;

export function createDailyAudit(deps: DailyAuditDeps) {
  const { accounts, audits, observer, poll } = deps;
  const { clock } = poll;

  async function auditOf(key: BackfillKey, options: DailyAuditOptions): Promise<void> {
    const stored = await audits.read(key);
    const { state, startedAt = '', differing: keeps = [] } = stored?.value ?? {};
    if (stored && state === 'done' && clock.now() - Date.parse(startedAt) < dayMs)
      return lookAgain(key, stored, options);
    const source = sampleSource(deps.publishedAdverts, key, deps.sample, pageSize);
    // Waiting in a Lambda function costs money, so differences that messages may explain are left to the next run.
    const isDelivering = () => false;
    const { end, progress } = await audit({ ...deps, isDelivering }, key, source, { ...options, keeps });
    if (end === 'done' || end === 'too-many') report(key.partnerAccount, progress);
  }

  function report(
    partnerAccount: string,
    { checked, equal, undecided, population, differing }: AuditProgress,
  ): void {
    const figures = { partnerAccount, checked, equal, undecided: undecided.length, population };
    if (differing.length === 0) observer.info('the audit found no difference', figures);
    else
      observer.error(
        'the audit found published statuses that are wrong: `audit` with --repair publishes them again',
        {
          ...figures,
          differing: differing.length,
          adverts: differing.slice(0, maxNamed).map(({ advertId }) => advertId),
        },
      );
  }

  /** Removes differences that have been corrected since. */
  async function lookAgain(
    key: BackfillKey,
    { value, version }: Versioned<AuditProgress>,
    options: DailyAuditOptions,
  ): Promise<void> {
    const [some, later] = [value.differing.slice(0, maxRechecked), value.differing.slice(maxRechecked)];
    if (some.length === 0) return;
    const { maxRequestsPerSecond } = poll.settings;
    const requests = createPacedRequests({
      ...{ clock, maxRequestsPerSecond, ...options },
      probe: askFeed(poll, key),
    });
    const mended = new Set<string>();
    await forEachConcurrent(some, looksAtOnce, async ({ advertId }) => {
      const look = await lookAt({ ...deps, requests }, key, advertId, true);
      if (look && isEqual(look)) mended.add(advertId);
    });
    const differing = [...later, ...some.filter(({ advertId }) => !mended.has(advertId))];
    if (mended.size > 0 || later.length > 0) await audits.write(key, { ...value, differing }, version, 0);
  }

  const mayBeAsked = (account: PartnerAccount): boolean => {
    const now = clock.now();
    return !stopOf(account) && !pauseOf(account, now) && !operatorPauseOf(account, now);
  };

  /** Records the error that ended one partner account's audit; the others continue. @throws any error not specific to an account */
  function noteEndOf(partnerAccount: string, error: unknown): void {
    if (error instanceof ShapeError) {
      observer.count(metrics.needsAttention, 1);
      observer.error('a stored row cannot be read: its partner account is not audited', {
        partnerAccount,
        reason: error.message,
      });
      return;
    }
    if (!(error instanceof PartnerError || error instanceof OutOfTimeError)) throw error;
    observer.warn('an audit could not go on: the next run tries again', { partnerAccount, error });
  }

  async function standingOf(key: BackfillKey): Promise<number> {
    const stored = await audits.read(key).catch((error: unknown) => {
      if (error instanceof ShapeError) return undefined;
      throw error;
    });
    return stored?.value.differing.length ?? 0;
  }

  return {
    /** Continues today's audit of each partner account, one after another, and counts the confirmed differences. */
    async run(options: DailyAuditOptions): Promise<{ readonly standing: number }> {
      let standing = 0;
      for (const account of await accounts.list(() => undefined)) {
        options.signal.throwIfAborted();
        const { name: partnerAccount, generation } = account;
        const key = { partnerAccount, generation };
        try {
          if (mayBeAsked(account)) await auditOf(key, options);
        } catch (error) {
          noteEndOf(partnerAccount, error);
        }
        standing += await standingOf(key);
      }
      observer.count(metrics.auditDifferences, standing);
      return { standing };
    },
  };
}
