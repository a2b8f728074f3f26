/** A person who runs audits; checks the result of an audit at rest against the model. */

import { BridgeFault } from '../../../shared/domain/faults.ts';
import type { SimWorld } from './sim-world.ts';
import type { AuditResult, Stages } from './stages.ts';

export type Auditor = ReturnType<typeof createAuditor>;

export function createAuditor(world: SimWorld, stages: Stages) {
  const { plan, state, history, service, coverage } = world;
  /** Adverts with dead letters that a person has redriven or deleted, by `account/advert`. */
  const handled = new Set<string>();

  /** Adverts with dead-lettered changes, whose published status may therefore be wrong. */
  async function givenUp(): Promise<ReadonlySet<string>> {
    const deadLetters = await state.deadLetters.list();
    const stored = deadLetters.map(({ message }) => `${message?.partnerAccount}/${message?.advertId}`);
    return new Set([...stored, ...handled]);
  }

  function count({ end, progress }: AuditResult): void {
    const { equal, differing, unsettled } = progress;
    if (end === 'stuck') coverage.count('audit: stuck');
    if (equal > 0 && differing.length === 0) coverage.count('audit: all as published');
    if (differing.length > 0) coverage.count('audit: differs');
    if (unsettled.length > 0) coverage.count('audit: unsettled');
  }

  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'audit-true', subject, message: `advert ${subject} ${message}` });

  /** @returns undefined if the audit failed, or its process died */
  async function run(
    key: string,
    account: string,
    onFault?: (error: unknown) => void,
  ): Promise<AuditResult | undefined> {
    const result = await stages.audit(key, account, onFault !== undefined).catch((error: unknown) => {
      coverage.count('audit: fails');
      onFault?.(error);
      return undefined;
    });
    if (result) count(result);
    return result;
  }

  return {
    run,
    setAside: (subject: string): void => void handled.add(subject),

    /** Runs an audit when nothing changes any more: it must find what is wrong, and publish it. */
    async runAtRest(account: string): Promise<void> {
      const { generation = 0 } = (await state.partnerAccounts.read(account)) ?? {};
      const owner = { partnerAccount: account, generation };
      const known = await givenUp();
      const result = await run(`audit-at-rest-${account}`, account, (error) => {
        // Tokens may expire within a second, which is not a failure of the service.
        if (!(error instanceof BridgeFault) || error.code !== 'transient') return;
        violated(account, `cannot be audited, although nothing goes wrong any more: ${error.message}`);
      });
      // If another user was connected under the name without saying so, the service rightly knows none of its adverts.
      if (result?.end !== 'done' || plan.handovers.some((one) => one.account === account)) return;
      for (const { advertId, published, actual } of result.progress.differing) {
        if (known.has(`${account}/${advertId}`)) continue;
        violated(
          `${account}/${advertId}`,
          `differed (${published}, now ${actual}), but no change was given up`,
        );
      }
      const { advertIds } = await state.advertHistories.page(owner);
      for (const advertId of advertIds) {
        if (result.progress.unsettled.includes(advertId)) continue;
        const row = await state.advertHistories.read({ ...owner, feed: 'adverts', advertId });
        const actual = service.status(account, advertId);
        if (row?.status === actual) continue;
        violated(`${account}/${advertId}`, `was audited, is published as ${row?.status}, and is ${actual}`);
      }
    },
  };
}
