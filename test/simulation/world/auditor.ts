/** A person who runs audits; checks the result of each audit against the model. */

import type { AuditResult } from '../../../functions/audit/audit.ts';
import { PartnerError } from '../../../shared/domain/faults.ts';
import { subjectOf } from '../model/history.ts';
import type { SimWorld } from './sim-world.ts';
import type { Stages } from './stages.ts';

export function createAuditor(world: SimWorld, stages: Stages) {
  const { plan, scheduler, state, history, service, coverage } = world;
  /** When each advert's dead letters were redriven, by `account/advert`. */
  const redrivenAt = new Map<string, number>();
  /** Adverts whose dead letters a person has deleted. */
  const thrownAway = new Set<string>();

  /** Adverts with dead-lettered changes, whose published status may therefore be wrong. */
  async function givenUp(sinceMs: number): Promise<ReadonlySet<string>> {
    const letters = await state.deadLetters.list();
    const lying = letters.map(
      ({ letter }) => `${letter.message?.partnerAccount}/${letter.message?.advertId}`,
    );
    const redriven = [...redrivenAt].filter(([, at]) => at >= sinceMs).map(([subject]) => subject);
    return new Set([...lying, ...redriven, ...thrownAway]);
  }

  /**
   * Whether a worker tried to dead-letter a change of this advert, even without a resulting dead letter: if its
   * receipt had expired, because another worker had settled the message, the row's event stays owed and there is no
   * dead letter. The row does not show whether the event was published.
   */
  const wasJudgedDead = (subject: string): boolean =>
    [...history.listings.values()].some(
      (listing) => subjectOf(listing) === subject && history.judged.get(listing.key)?.has('dead-letter'),
    );

  function count({ progress }: AuditResult): void {
    const { differing, undecided, repaired } = progress;
    if (differing.length + undecided.length === 0) coverage.count('audit: all as published');
    if (differing.length > 0) coverage.count('audit: differs');
    if (undecided.length > 0) coverage.count('audit: undecided');
    if (repaired > 0) coverage.count('audit: repaired');
  }

  const isGivenAway = (name: string) => plan.handovers.some(({ account }) => account === name);

  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'audit-true', subject, message: `advert ${subject} ${message}` });

  /**
   * @param onFault called with the error if the audit fails
   * @returns the result of the audit; undefined if it failed
   */
  async function run(
    key: string,
    account: string,
    repair: boolean,
    onFault?: (error: unknown) => void,
  ): Promise<AuditResult | undefined> {
    const result = await stages.audit(key, account, repair).catch((error: unknown) => {
      coverage.count('audit: fails');
      onFault?.(error);
    });
    if (!result) return undefined;
    count(result);
    // If another user was connected under the name without saying so, the service rightly knows none of the published
    // adverts.
    if (isGivenAway(account)) return result;
    // A continued audit also reports the differences that were found before.
    const known = await givenUp(Date.parse(result.progress.startedAt) - plan.maxSkewMs);
    for (const { advertId, published, actual } of result.progress.differing) {
      const subject = `${account}/${advertId}`;
      if (known.has(subject) || (published === actual && wasJudgedDead(subject))) continue;
      violated(
        subject,
        `is said to differ (published ${published}, is ${actual}), but no change was given up`,
      );
    }
    return result;
  }

  /**
   * Marks an unfinished audit as done, so that it is not continued: the adverts that it checked have changed since.
   */
  async function giveUpHalfDone(account: string): Promise<void> {
    const { generation = 0 } = (await state.partnerAccounts.read(account)) ?? {};
    const key = { partnerAccount: account, generation };
    const { value, version } = (await state.audits.read(key)) ?? {};
    if (value && version !== undefined)
      await state.audits.write(key, { ...value, state: 'done' }, version, 0);
  }

  return {
    run,
    redriven: (subject: string): void => void redrivenAt.set(subject, scheduler.now()),
    threwAway: (subject: string): void => void thrownAway.add(subject),

    /** Runs an audit when nothing changes any more: it must find everything that is wrong. */
    async runAtRest(account: string, repair: boolean): Promise<void> {
      await giveUpHalfDone(account);
      const result = await run(`audit-at-rest-${account}`, account, repair, (error) => {
        // Tokens may expire within a second, which is not a failure of the service.
        if (!(error instanceof PartnerError) || error.code !== 'transient') return;
        const failing = `an audit of ${account} cannot be carried out, although nothing goes wrong any more`;
        history.violated({
          invariant: 'audit-true',
          subject: account,
          message: `${failing}: ${error.message}`,
        });
      });
      const { generation = 0 } = (await state.partnerAccounts.read(account)) ?? {};
      if (result?.end !== 'done' || isGivenAway(account)) return;
      const { differing, undecided } = result.progress;
      const named = new Set([...differing.map(({ advertId }) => advertId), ...undecided]);
      const { advertIds } = await state.publishedAdverts.page({ partnerAccount: account, generation });
      for (const advertId of advertIds.filter((id) => !named.has(id))) {
        const key = { partnerAccount: account, generation, feed: 'adverts', advertId } as const;
        const row = await state.advertHistories.read(key);
        const actual = service.status(account, advertId);
        if (row?.status !== actual)
          violated(
            `${account}/${advertId}`,
            `was published as ${row?.status}, is ${actual}, and the audit says nothing of it`,
          );
      }
    },
  };
}
