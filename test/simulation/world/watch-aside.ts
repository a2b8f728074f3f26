/**
 * Checks `nobody-delays-another`: messages aside are back in the queue within a minute after the end of their wait. Called
 * repeatedly.
 */
import { holdOf } from '../../../shared/domain/holds.ts';
import { heldUntil } from '../../../shared/state/budget.ts';
import type { SimWorld } from './sim-world.ts';

/** The drain runs every ten seconds by then; a late answer of the chaos phase may still be under way at first. */
const maxMs = 60_000;

export function createAsideWatch({ scheduler, state, history, plan }: SimWorld): () => Promise<void> {
  /** By account: since when nothing keeps its messages from coming back. */
  const freeSince = new Map<string, number>();

  return async () => {
    const now = scheduler.now();
    const isBridgePaused = heldUntil(await state.budgetStore.read(), now) > now;
    for (const account of plan.accounts) {
      const row = await state.partnerAccounts.read(account);
      const isResting = isBridgePaused || (row && holdOf(undefined, row, now));
      const [first] = await state.aside.list(account, 1);
      if (isResting || !first) {
        freeSince.delete(account);
        continue;
      }
      const from = freeSince.get(account) ?? now;
      freeSince.set(account, from);
      if (now - from <= maxMs) continue;
      const message = `${first.message.key} of ${account} is aside ${now - from} ms after nothing kept it from coming back`;
      history.violated({ invariant: 'nobody-delays-another', message });
    }
  };
}
