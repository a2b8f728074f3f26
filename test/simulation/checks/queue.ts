/**
 * Checks that the queue dead-letters nothing itself (`no-change-lost`), and that messages waiting for a person are
 * outside it (`nobody-delays-another`).
 */
import { stopOf } from '../../../shared/domain/partner-account.ts';
import { movedByQueue } from '../../fakes/changed-adverts-queue.ts';
import type { SimWorld } from '../world/sim-world.ts';

export async function checkQueue({ state, history, plan, coverage }: SimWorld): Promise<void> {
  for (const deadLetter of await state.deadLetters.list()) {
    const { partnerAccount, advertId, fault, message, receives } = deadLetter;
    const subject = `${partnerAccount}/${advertId}`;
    if (fault === movedByQueue) {
      const text = `the queue itself gave up ${message?.key} after ${receives} receives: nothing says what it owes`;
      history.violated({ invariant: 'no-change-lost', subject, message: text });
    }
    if (fault !== 'delivered-too-often') continue;
    coverage.count('fan-out: gives up what comes too often');
    // Checked only where the delays alone decide how often a message is received.
    if (plan.siege === undefined || plan.siege === 'killer-advert') continue;
    const text = `${message?.key} was received ${receives} times in ${plan.chaosMs / 60_000} minutes`;
    history.violated({ invariant: 'no-change-lost', subject, message: text });
  }
  const { lostAccount } = plan;
  const lost = lostAccount && (await state.partnerAccounts.read(lostAccount));
  if (!lost || !stopOf(lost)) return;
  const waiting = await state.queue.depth(lost.name);
  const held = (await state.aside.list(lost.name)).length;
  if (held > 0) coverage.count('aside: waits for a person to the end');
  if (waiting === 0) return;
  const text = `${waiting} messages of ${lost.name} stand in the queue, although nobody connects it any more`;
  history.violated({ invariant: 'nobody-delays-another', message: text });
}
