/** Checks worlds in which the service's answers change from one kind to another, as before a blocked address. */
import { epochMs } from '../model/scheduler.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { delaysOf } from './beside.ts';

const minuteMs = 60_000;
/** Requests for adverts into a block: what is under way until it is noticed, and then the trials. */
const [mostAtFirst, mostAMinute] = [12, 2];
/** Where one account is connected, and many of its changes wait when the block begins: until its feed is polled. */
const mostOfBurst = 90;
/** After the end of an outage, everything is right within this time. */
const rightWithinMs = 15 * minuteMs;
/** Of an account: three adverts are the evidence, and a batch of each of two workers is in flight. */
const mostGivenUp = 12;

export function checkTurns(world: SimWorld): void {
  const { plan, askedOf, history } = world;
  const { ills, accounts } = plan;
  // A feed has a pace of its own.
  const block = ills.filter(({ of, answer }) => of === 'adverts' && answer === 'status-403');
  const untilMs = Math.max(...ills.map((ill) => ill.untilMs));
  const asked = block.flatMap((ill) => askedOf.get(ill) ?? []).map((at) => at - epochMs);
  const fromMs = Math.min(...asked);
  const isSudden = accounts.length === 1 && ills.every((ill) => ill.fromMs === block[0]?.fromMs);
  const most = isSudden ? mostOfBurst : mostAtFirst;
  const atFirst = asked.filter((ms) => ms < fromMs + minuteMs).length;
  const later = asked.length - atFirst;
  const mostLater = Math.ceil((mostAMinute * (untilMs - fromMs)) / minuteMs);
  if (asked.length > 0 && (atFirst > most || later > mostLater)) {
    const message = `${atFirst} adverts were asked for in the first minute of a block, then ${later}; ${most} and ${mostLater} are enough`;
    history.violated({ invariant: 'service-not-hammered', message });
  }
  const isRefused = ills.some(({ answer }) => answer === 'status-400' || answer === 'status-451');
  const givenUp = history.deadLetteredAt.length;
  const enough = isRefused ? mostGivenUp * accounts.length : 0;
  if (givenUp > enough) {
    const message = `${givenUp} messages were given up while all were answered badly (${ills.map(({ answer }) => answer).join()})`;
    history.violated({ invariant: 'few-dead-letters', message });
  }
  if (isRefused) return;
  const waitsMs = 1_000 * (plan.circuitSeconds + plan.pollSeconds);
  const longest = Math.max(...delaysOf(world, () => true));
  if (longest <= untilMs - Math.min(...ills.map((ill) => ill.fromMs)) + waitsMs + rightWithinMs) return;
  const message = `after the end of what was answered badly, a change takes ${longest} ms`;
  history.violated({ invariant: 'nobody-delays-another', message });
}
