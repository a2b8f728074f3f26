/**
 * Checks `nobody-delays-another`: messages aside are back in the queue within a minute after the end of their wait, and
 * the time that half the request rate takes for all of them. Called repeatedly.
 */
import { blamingHold, holdOf } from '../../../shared/domain/holds.ts';
import { isDue } from '../../../shared/state/aside.ts';
import type { SimWorld } from './sim-world.ts';

/** The drain runs every ten seconds by then; a late answer of the chaos phase may still be under way at first. */
const maxMs = 60_000;

export function createAsideWatch({ scheduler, state, history, plan }: SimWorld): () => Promise<void> {
  /** By account: since when no hold keeps its messages from coming back, and the most messages aside since then. */
  const free = new Map<string, { readonly from: number; readonly most: number }>();

  return async () => {
    const now = scheduler.now();
    const isBridgePaused = holdOf(await state.budgetStore.read(), undefined, now) !== undefined;
    for (const account of plan.accounts) {
      const row = await state.partnerAccounts.read(account);
      const isResting = isBridgePaused || (row && (holdOf(undefined, row, now) || blamingHold(row)));
      // By time: the one that is due the longest comes back first.
      const first = (await state.aside.list(account)).find((one) => isDue(one, now));
      if (isResting || !first) {
        free.delete(account);
        continue;
      }
      const { waiting } = await state.aside.figures();
      const before = free.get(account) ?? { from: now, most: 0 };
      const { from, most } = { ...before, most: Math.max(before.most, waiting) };
      free.set(account, { from, most });
      const sinceMs = Math.max(from, first.wait?.dueMs ?? 0);
      if (now <= sinceMs + maxMs + (2_000 * most) / plan.requestsPerSecond) continue;
      const message = `${first.message.key} of ${account} is aside ${now - sinceMs} ms after nothing kept it from coming back`;
      history.violated({ invariant: 'nobody-delays-another', message });
    }
  };
}
