import { systemClock } from '../../../shared/domain/clock.ts';
import { isRunning } from '../../../shared/sqlite/file/run-lock.ts';
import type { EventTail } from '../ports/tail.ts';
import type { LocalBridge } from './bridge.ts';

const lookMs = 200;

/** Reads what a concurrent run adds to the state; changes nothing. */
export const localTail = ({ state, target }: Pick<LocalBridge, 'state' | 'target'>): EventTail => ({
  accounts: state.partnerAccounts,
  async *events(name, { signal, say }) {
    const { eventLog } = state;
    let seen = eventLog.ends().last;
    if (!isRunning(target.dir))
      say(`No bridge runs in ${target.dir} now: its events appear here once it does.`);
    for (; !signal.aborted; await systemClock.sleep(lookMs, signal)) {
      for (let some = eventLog.after(seen); some.length > 0; some = eventLog.after(seen)) {
        const missed = eventLog.ends().first - seen - 1;
        if (missed > 0) say(`${missed} events were published too fast to be shown.`);
        seen = some.at(-1)?.number ?? seen;
        yield some.map(({ envelope }) => envelope).filter((one) => isOf(name, one));
      }
    }
  },
});

const isOf = (name: string | undefined, envelope: string): boolean =>
  name === undefined || JSON.parse(envelope).detail.metadata.partnerAccount === name;
