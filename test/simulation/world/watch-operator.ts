/**
 * Checks `operator-pause-kept`: from 5 seconds after the start of an operator's pause, no request except token
 * requests is sent for it, no message is dead-lettered because of it, and none is hidden for longer than a minute.
 */
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import type { Settlement } from '../../../shared/ports/queue.ts';
import type { Model } from '../model/model.ts';
import type { Process } from './process.ts';
import { nameOf, tokenIn } from './users.ts';

interface Standing {
  /** undefined: the whole bridge. */
  readonly account: string | undefined;
  readonly fromMs: number;
  untilMs: number;
}

/** How long a process may continue before it knows of a pause. */
const graceMs = 5_000;
/** For a feed request that a `connect` had already started. */
const lookMs = 10_000;
/** Up to `fewReceives`, a message's own backoff is only seconds, so a longer delay has another reason. */
const [longestHiddenMs, fewReceives] = [60_000, 5];

export function createOperatorWatch({ plan, scheduler, service, history }: Model) {
  const pauses: Standing[] = [];

  const isOf = (account: string) => (one: Standing) => one.account === undefined || one.account === account;

  function end(account: string | undefined): void {
    const now = scheduler.now();
    for (const one of pauses) if (one.account === account) one.untilMs = Math.min(one.untilMs, now);
  }

  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'operator-pause-kept', subject, message });

  return {
    paused(
      account: string | undefined,
      { until = Number.POSITIVE_INFINITY }: { readonly until?: number },
    ): void {
      end(account);
      pauses.push({ account, fromMs: scheduler.now(), untilMs: until });
    },
    /** Ended by a person, or because the account was forgotten. */
    ended: end,
    requestStarted(process: Process, wire: WireRequest): void {
      const { path } = wire;
      if (path.endsWith('/oauth/token')) return;
      const account = nameOf(service.tokens.accountOf(tokenIn(wire)) ?? '');
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
        if (verdict.kind === 'dead-letter' && verdict.deadLetter.fault === 'operator-paused')
          violated(partnerAccount, `${key} was given up because an operator had paused ${partnerAccount}`);
        if (verdict.kind !== 'retry' || verdict.delayMs <= longestHiddenMs) continue;
        const isPaused = pauses.filter(isOf(partnerAccount)).some(({ untilMs }) => scheduler.now() < untilMs);
        // The messages of an advert go back together, with the delay of the oldest one.
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
