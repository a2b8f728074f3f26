/**
 * Checks `credentials-kept` at the end: every user who is still authorized is connected, with a refresh token that
 * the service accepts.
 */
import type { SimWorld } from '../world/sim-world.ts';

export async function checkTokens(
  { plan, service, state, history, users }: SimWorld,
  stopped: readonly string[],
): Promise<void> {
  for (const account of plan.accounts) {
    const violated = (message: string) =>
      history.violated({ invariant: 'credentials-kept', subject: account, message });
    if (service.tokens.isRevoked(users.currentOf(account))) {
      if (account !== plan.lostAccount) violated(`${account} was never connected again`);
      continue;
    }
    if (stopped.includes(account)) violated(`${account} is stopped, although its authorization stands`);
    const row = await state.partnerAccounts.read(account);
    const pair = await state.vault.read(account, row?.token?.version);
    if (!pair) violated(`the tokens of ${account} are gone`);
    else if (!service.tokens.opens(pair.pair.refreshToken.reveal())) {
      violated(`the refresh token kept for ${account} is dead, although its authorization stands`);
    }
  }
}
