import { checked, ShapeError } from '../../shared/contract/checks.ts';
import type { Deadline } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import { type Application, pairOfText, Secret, type StoredPair } from '../../shared/domain/secret.ts';
import { exclusively } from '../refresh-token/refresh-lock.ts';
import { normalScope, storePair } from '../refresh-token/token-pairs.ts';
import { createConnectAccount } from './connect-account.ts';
import type { ConnectDeps } from './connected-row.ts';
import { createDisconnect } from './disconnect-account.ts';
import { type AcceptedApplication, type ConnectAnswer, connectEvent } from './requests.ts';

/** All operators' commands for credentials: those of the application and of partner accounts. */
export const createConnect = (deps: ConnectDeps) => ({
  /**
   * The address where a user authorizes the application: the first half of the authorization-code flow.
   * @throws {ShapeError} when the application's credentials are not stored yet @see partner-api.md §5.3
   */
  async authorize({ state, redirectUri }: { readonly state: string; readonly redirectUri?: string }) {
    const { clientId } = await deps.applicationSecret.read();
    const scope = deps.settings.requiredScope;
    return { url: deps.client.authorizeUrl({ clientId, scope, state, redirectUri }) };
  },

  /**
   * Checks whether the service accepts the application's credentials, by requesting a token for the application
   * itself, which is not stored.
   * @param given default: those that are stored
   * @returns `clockOffSeconds`: how far the service's clock is ahead of the bridge's, absent if the answer has no date
   * @throws {BridgeFault} `client-rejected`, `scope-refused`, or a transient one @see partner-api.md §5.3
   */
  async check(options: Deadline, given?: Application): Promise<AcceptedApplication> {
    const grant = { grant_type: 'client_credentials', scope: deps.settings.requiredScope } as const;
    const application = given ?? (await deps.applicationSecret.read());
    const { answer, claimedTime, receivedAt } = await deps.client.requestTokens(application, grant, options);
    const granted = { scope: normalScope(answer.scope) };
    if (claimedTime === undefined) return granted;
    return { ...granted, clockOffSeconds: Math.round((claimedTime - receivedAt) / 1000) };
  },

  /**
   * Stores the pair of an account that is being moved here. The account's row names it later (operators/operations/move/move.ts); until
   * then nothing uses it.
   * @returns the version
   * @throws {BridgeFault} `account-busy` for an account that is not being moved, so that a late call replaces nothing
   */
  storeMovedPair: (name: string, pair: StoredPair, options: Deadline): Promise<string> =>
    exclusively(deps, name, options, async ({ account }) => {
      if (account?.moving && account.generation === pair.generation)
        return storePair(deps, name, pair, options);
      throw new BridgeFault('account-busy', `partner account ${name} is not being moved here`);
    }),

  connect: createConnectAccount(deps),
  ...createDisconnect(deps),
});

export type Connect = ReturnType<typeof createConnect>;

/**
 * Carries out the action that the event names. A refusal is returned as data without secrets; any other fault fails
 * the invocation.
 * @throws {ShapeError} for an event that does not match the contract; the error contains nothing of the event
 */
export async function answerConnect(
  stage: Connect,
  event: unknown,
  options: Deadline,
): Promise<ConnectAnswer> {
  const request = checked(connectEvent, event, 'event of connect');
  try {
    switch (request.action) {
      case 'authorize':
        return { kind: 'authorize', ...(await stage.authorize(request)) };
      case 'connect': {
        const { action: _action, ...rest } = request;
        // From here on the secret is wrapped, so that it is not printed.
        const hidden =
          'code' in rest
            ? { ...rest, code: new Secret(rest.code) }
            : { ...rest, refreshToken: new Secret(rest.refreshToken) };
        return { kind: 'connected', ...(await stage.connect(hidden, options)) };
      }
      case 'check':
        return { kind: 'accepted', ...(await stage.check(options)) };
      case 'check-application': {
        const [clientId, clientSecret] = [new Secret(request.clientId), new Secret(request.clientSecret)];
        return { kind: 'accepted', ...(await stage.check(options, { clientId, clientSecret })) };
      }
      case 'disconnect': {
        const { partnerAccount, forget } = request;
        if (!forget) return { kind: 'disconnected', known: await stage.disconnect(partnerAccount) };
        return { kind: 'forgetting', generation: (await stage.beginForget(partnerAccount)) ?? null };
      }
      case 'forget':
        await stage.endForget(request.partnerAccount, request.generation);
        return { kind: 'forgotten' };
      case 'store-pair': {
        const { partnerAccount: name, pair } = request;
        return { kind: 'stored', version: await stage.storeMovedPair(name, pairOfText(pair, name), options) };
      }
    }
  } catch (error) {
    // The messages of these errors contain no secret.
    if (!(error instanceof BridgeFault || error instanceof ShapeError)) throw error;
    const status = error instanceof BridgeFault ? error.status : undefined;
    return { kind: 'refused', fault: error.code, reason: error.message, status };
  }
}
