import { setTimeout as sleep } from 'node:timers/promises';
import { endLeases, type Traffic, waitingMessages } from './scene.ts';
import { type Answer, ask, pollsOf } from './stir.ts';

/** Longer than the longest delay after passing faults, 5 min (`retryPolicies` in functions/fan-out/redelivery.ts). */
const maxToSettleMs = 480_000;
/** After this time, every event on its way to the subscriber has arrived. */
const silenceMs = 2_000;

/**
 * Ends the service's faults, and drains until no feed has anything left, no message is in the queue, and nothing more
 * reaches the subscriber.
 *
 * @throws {Error} when this state is not reached
 */
export async function settle(scene: Traffic): Promise<void> {
  const { deployment, weather, accounts } = scene;
  const { sandbox, subscriber } = deployment;
  const until = Date.now() + maxToSettleMs;
  weather.clear();
  sandbox.control.change({ visibilityDelayMs: 0 });
  // A scheduled drain may still be running: it loses its lease, or ends before.
  await endLeases(scene);
  for (;;) {
    const answer = await ask(scene, 'drain');
    const waiting = await waitingMessages(scene);
    if (waiting === 0 && areUpToDate(answer, accounts)) break;
    if (Date.now() > until)
      throw new Error(`${waiting} messages are left, and the last drain said: ${JSON.stringify(answer)}`);
    await sleep(500);
  }
  let before: number;
  do {
    before = subscriber.received.length;
    await subscriber.readUntil(({ length }) => length > before, silenceMs);
  } while (subscriber.received.length > before);
}

/** Whether every feed is read to its end, including those of `accounts`: later steps also read the others. */
function areUpToDate(answer: Answer, accounts: readonly string[]): boolean {
  const polls = pollsOf(answer);
  const polled = new Set(polls.map(({ partnerAccount }) => partnerAccount));
  return (
    accounts.every((account) => polled.has(account)) &&
    polls.every(({ end, listed }) => end === 'up-to-date' && listed === 0)
  );
}
