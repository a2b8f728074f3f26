/** What operators have the connect function do, the same for both kinds of bridge. */
import type { ConnectRequest } from '../../functions/connect/connect-account.ts';
import type {
  ConnectAnswer,
  ConnectAnswerKind,
  ConnectEvent,
  ConnectedAccount,
} from '../../functions/connect/requests.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { BridgeFault, faultKinds } from '../../shared/domain/faults.ts';
import { isTokenHold, renewableNow } from '../../shared/domain/renewal.ts';
import type { Application } from '../../shared/domain/secret.ts';
import type { Bridge } from './bridge.ts';

/** @param kind of the answer @throws {BridgeFault | ShapeError} what the function refused it for */
export async function askFor<K extends ConnectAnswerKind>(
  bridge: { askConnect(event: ConnectEvent, baseUrl?: string): Promise<ConnectAnswer> },
  kind: K,
  event: ConnectEvent,
  baseUrl?: string,
): Promise<ConnectAnswer<K>> {
  const answer = await bridge.askConnect(event, baseUrl);
  if (answer.kind === kind) return answer as ConnectAnswer<K>;
  if (answer.kind !== 'refused')
    throw new ShapeError('answer of the connect function', [{ path: 'kind', expected: kind }]);
  const { fault, reason, status } = answer;
  // A row of a wrong shape has no kind of fault.
  throw new BridgeFault(faultKinds.find((one) => one === fault) ?? 'malformed-state', reason, { status });
}

/** Checks credentials before they are stored. @param baseUrl as of `storeApplication` @throws {BridgeFault | ShapeError} */
export async function checkApplication(bridge: Bridge, application: Application, baseUrl?: string) {
  const [clientId, clientSecret] = [application.clientId.reveal(), application.clientSecret.reveal()];
  const event = { action: 'check-application', clientId, clientSecret } as const;
  return askFor(bridge, 'accepted', event, baseUrl);
}

/** Replaces the application's credentials: tokens that could not be renewed with those before are renewed at once. */
export async function storeApplication(
  bridge: Pick<Bridge, 'storeApplication' | 'partnerAccounts' | 'budgetStore'>,
  ...given: Parameters<Bridge['storeApplication']>
): Promise<void> {
  await bridge.storeApplication(...given);
  const { partnerAccounts, budgetStore } = bridge;
  await budgetStore.change((state) => (state.renewal ? renewableNow(state) : state));
  for (const { name, renewal, holds } of await partnerAccounts.list(() => undefined))
    if (renewal || holds?.some(isTokenHold)) await partnerAccounts.change(name, renewableNow);
}

export async function connectAccount(bridge: Bridge, request: ConnectRequest): Promise<ConnectedAccount> {
  const credential =
    'code' in request ? { code: request.code.reveal() } : { refreshToken: request.refreshToken.reveal() };
  const event = { action: 'connect', ...request, ...credential } as const;
  const { kind: _kind, ...account } = await askFor(bridge, 'connected', event);
  return account;
}

/** May be repeated. @param options.forget removes cursor, history and dead letters too */
export async function disconnectAccount(
  bridge: Bridge,
  partnerAccount: string,
  { forget }: { readonly forget: boolean },
): Promise<void> {
  const { advertHistories, deadLetters } = bridge;
  const event = { action: 'disconnect', partnerAccount, forget } as const;
  if (!forget) return void (await askFor(bridge, 'disconnected', event));
  const { generation } = await askFor(bridge, 'forgetting', event);
  if (generation === null) return;
  // All steps can be repeated as long as the name is known, so the function removes the name last.
  await advertHistories.remove(partnerAccount, generation);
  const ofName = await deadLetters.list(partnerAccount, () => undefined);
  await deadLetters.drop(ofName.filter(({ message }) => (message?.generation ?? 0) <= generation));
  await askFor(bridge, 'forgotten', { action: 'forget', partnerAccount, generation });
}
