/**
 * `operator-pause-kept`: from 5 seconds after an operator paused something nothing is asked of the service for it, tokens
 * apart, no message is given up for it, and none hidden for longer than a minute.
 */
import type { OperatorPause } from '../../../shared/domain/operator-pause.ts';
import { endOfPause } from '../../../shared/domain/operator-pause.ts';
import type { WireRequest } from '../../../shared/partner-api/http/transport.ts';
import type { Settlement } from '../../../shared/ports/deliveries.ts';
import type { History } from '../model/history.ts';
import type { Plan } from '../model/plan.ts';
import type { Scheduler } from '../model/scheduler.ts';
import type { Service } from '../model/service.ts';
import type { Process } from './process.ts';
import { nameOf } from './users.ts';

export interface OperatorWatchDeps {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly history: History;
}

interface Standing {
  /** undefined: the whole bridge. */
  readonly account: string | undefined;
  readonly fromMs: number;
  untilMs: number;
}

/** How long a process may go on that does not know of a pause yet. */
const graceMs = 5_000;
/** A look at the feed that a `connect` had begun by then. */
const lookMs = 10_000;
/** Nothing but its receives makes a message stay away for longer: after so few of them it stays for seconds. */
const [longestHiddenMs, fewReceives] = [60_000, 5];

export function createOperatorWatch({ plan, scheduler, service, history }: OperatorWatchDeps) {
  const pauses: Standing[] = [];

  const isOf = (account: string) => (one: Standing) => one.account === undefined || one.account === account;

  function end(account: string | undefined): void {
    const now = scheduler.now();
    for (const one of pauses) if (one.account === account) one.untilMs = Math.min(one.untilMs, now);
  }

  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'operator-pause-kept', subject, message });

  return {
    /** All that were, as they really ended. */
    pauses: pauses as readonly Standing[],
    paused(account: string | undefined, pause: OperatorPause): void {
      end(account);
      pauses.push({ account, fromMs: scheduler.now(), untilMs: endOfPause(pause) });
    },
    /** By somebody, or with the account that was forgotten. */
    ended: end,
    requestStarted(process: Process, { path, headers }: WireRequest): void {
      if (path.endsWith('/oauth/token')) return;
      const token = /^Bearer (.*)/.exec(headers[headers.indexOf('Authorization') + 1] ?? '')?.[1] ?? '';
      const account = nameOf(service.tokens.accountOf(token) ?? '');
      const now = scheduler.now();
      const allowedMs = graceMs + (process.name.startsWith('connect') ? lookMs : 0);
      const pause = pauses
        .filter(isOf(account))
        .find(({ fromMs, untilMs }) => now > fromMs + allowedMs && now < untilMs - plan.maxSkewMs);
      if (!pause) return;
      const whose = pause.account ?? 'the whole bridge';
      violated(account, `${process.name} sent ${path} ${now - pause.fromMs} ms after ${whose} was paused`);
    },
    settled(settlements: readonly Settlement[]): void {
      for (const { delivery, verdict } of settlements) {
        const { key = '', partnerAccount = '' } = delivery.message ?? {};
        if (verdict.kind === 'dead-letter' && verdict.letter.fault === 'operator-paused')
          violated(partnerAccount, `${key} was given up because an operator had paused ${partnerAccount}`);
        if (verdict.kind !== 'retry' || verdict.delayMs <= longestHiddenMs) continue;
        const isPaused = pauses.filter(isOf(partnerAccount)).some(({ untilMs }) => scheduler.now() < untilMs);
        // The messages of an advert go back together, for as long as the oldest of them has to.
        const ofAdvert = settlements.filter(
          (one) => one.delivery.message?.advertId === delivery.message?.advertId,
        );
        if (isPaused && ofAdvert.every(({ delivery: { receives } }) => receives <= fewReceives))
          violated(
            partnerAccount,
            `${key} is hidden for ${verdict.delayMs} ms, where no resume can call it back`,
          );
      }
    },
  };
}
