/**
 * Checks what renewing tokens costs where the token endpoint is ill, or tokens end early: how often it is asked, for how
 * long a token that has ended is sent, and that no pair is stored twice.
 */
import { epochMs } from '../model/scheduler.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { delaysOf } from './beside.ts';

const minuteMs = 60_000;
/** Of one account whose token has run out: after 5 s, doubled to ten minutes. */
const mostOfAccount = 8;
/** Of all accounts while the endpoint fails for several of them: then one tries it for all. */
const mostOfAll = 24;
/** While the endpoint works, each account's token runs out every six minutes. */
const mostOfHealthy = 3;
/** An advert that answers 401, beside others that are answered well, has its token renewed at each of its tries. */
const mostWhereEnded = 45;
/** The first poll, the lock of a process that died, and the doubled wait of a feed whose next token had ended, too. */
const endedWithinMs = 5.5 * minuteMs;
/** After an outage, and beside an advert that answers 401. */
const rightWithinMs = 15 * minuteMs;

export function checkRenewals(world: SimWorld): void {
  const { plan, tokenWatch, history } = world;
  const ills = plan.ills.filter(({ of }) => of === 'tokens');
  const [fromMs, untilMs] = [ills[0]?.fromMs ?? 0, ills[0]?.untilMs ?? plan.chaosMs];
  const asked = tokenWatch.asked.filter((at) => at > epochMs + fromMs && at <= epochMs + untilMs).length;
  const ofIll = ills.length > 1 ? mostOfAll : mostOfAccount;
  const ofOthers = mostOfHealthy * (plan.accounts.length - ills.length);
  const most = ills.length > 0 ? ofIll + ofOthers : mostWhereEnded;
  if (asked > most) {
    const message = `the token endpoint was asked ${asked} times, ${most} are enough (${ills[0]?.answer ?? 'tokens end early'})`;
    history.violated({ invariant: 'service-not-hammered', message });
  }
  const lateMs = Math.max(0, ...tokenWatch.lateMs);
  if (lateMs > endedWithinMs) {
    const message = `a token was sent ${lateMs} ms after the service had ended it, although it could be renewed`;
    history.violated({ invariant: 'credentials-kept', message });
  }
  if (ills.length === 0 && tokenWatch.failed() > 0) {
    const message = `accounts were written ${tokenWatch.failed()} times with a renewal that failed, although each was answered well`;
    history.violated({ invariant: 'credentials-kept', message });
  }
  if (tokenWatch.repeats() > 0) {
    const message = `a token pair was stored ${tokenWatch.repeats()} times although it was stored already`;
    history.violated({ invariant: 'credentials-kept', message });
  }
  const longest = Math.max(...delaysOf(world, (subject) => subject !== 'dune/1000'));
  const patienceMs = ills.length > 0 ? untilMs - fromMs + rightWithinMs : endedWithinMs + rightWithinMs;
  if (longest > patienceMs) {
    const message = `where tokens could not be renewed for a while, a change takes ${longest} ms`;
    history.violated({ invariant: 'nobody-delays-another', message });
  }
}
