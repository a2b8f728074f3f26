import type { Bridge } from '../../operations/bridge.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';

const lookMs = 200;

/** Reads what a concurrent run adds to the state; changes nothing. */
export async function* tailFolder(
  { eventLog }: Pick<EmbeddedState, 'eventLog'>,
  name: Parameters<Bridge['events']>[0],
  { signal, say, recent = 0 }: Parameters<Bridge['events']>[1],
): AsyncGenerator<readonly string[]> {
  const ends = eventLog.ends();
  let last = Math.max(0, ends.first - 1, ends.last - recent);
  for (; !signal.aborted; await systemClock.sleep(lookMs, signal)) {
    for (let some = eventLog.after(last); some.length > 0; some = eventLog.after(last)) {
      const missed = eventLog.ends().first - last - 1;
      if (missed > 0) say(`${missed} events were published too fast to be shown.`);
      last = some.at(-1)?.number ?? last;
      yield some.map(({ envelope }) => envelope).filter((one) => isOf(name, one));
    }
  }
}

const isOf = (name: string | undefined, envelope: string): boolean =>
  name === undefined || JSON.parse(envelope).detail.metadata.partnerAccount === name;
