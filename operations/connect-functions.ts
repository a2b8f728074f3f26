/** What operators have the connect function do, the same for both kinds of bridge. */
import { ShapeError } from '../shared/contract/checks.ts';
import type { ConnectAnswer, ConnectAnswerKind, ConnectEvent } from '../shared/contract/invocations.ts';
import { BridgeFault, type FaultKind, faultKinds } from '../shared/domain/faults.ts';
import type { Bridge, BridgeFunctions } from './bridge.ts';

interface ConnectFunction extends Pick<Bridge, 'advertHistories' | 'deadLetters'> {
  /** Invokes the function of a stack, or carries out its work in this process. */
  invoke(event: ConnectEvent): Promise<ConnectAnswer>;
}

export function connectFunctions({
  invoke,
  advertHistories,
  deadLetters,
}: ConnectFunction): Pick<BridgeFunctions, 'checkApplication' | 'authorizeUrl' | 'connect' | 'disconnect'> {
  /** @throws {BridgeFault | ShapeError} what the function refused it for */
  async function ask<K extends ConnectAnswerKind>(event: ConnectEvent, kind: K): Promise<ConnectAnswer<K>> {
    const answer: ConnectAnswer = await invoke(event);
    if (answer.kind === kind) return answer as ConnectAnswer<K>;
    if (answer.kind !== 'refused')
      throw new ShapeError('answer of the connect function', [{ path: 'kind', expected: kind }]);
    const { fault, reason } = answer;
    if ((faultKinds as readonly string[]).includes(fault)) throw new BridgeFault(fault as FaultKind, reason);
    const [place = '', ...expected] = reason.split(': ');
    throw new ShapeError(place, [{ path: '', expected: expected.join(': ') }]);
  }

  return {
    checkApplication: () => ask({ action: 'check' }, 'accepted'),
    authorizeUrl: async (request) => (await ask({ action: 'authorize', ...request }, 'authorize')).url,

    async connect({ partnerAccount, since, sameUser, newUser, ...handedIn }) {
      const credential =
        'code' in handedIn
          ? { code: handedIn.code.reveal(), redirectUri: handedIn.redirectUri }
          : { refreshToken: handedIn.refreshToken.reveal() };
      const request = { partnerAccount, since, sameUser, newUser, ...credential };
      const { kind: _kind, ...account } = await ask({ action: 'connect', ...request }, 'connected');
      return account;
    },

    async disconnect(partnerAccount, { forget }) {
      const event = { action: 'disconnect', partnerAccount, forget } as const;
      if (!forget) return (await ask(event, 'disconnected')).known;
      const { generation } = await ask(event, 'forgetting');
      if (generation === null) return false;
      // All steps can be repeated as long as the name is known, so the function removes the name last.
      await advertHistories.remove(partnerAccount, generation);
      const ofName = await deadLetters.list(partnerAccount, () => undefined);
      await deadLetters.drop(ofName.filter(({ letter }) => (letter.message?.generation ?? 0) <= generation));
      await ask({ action: 'forget', partnerAccount, generation }, 'forgotten');
      return true;
    },
  };
}
