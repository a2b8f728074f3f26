/** The commands that the connect function of a stack carries out. */
import * as v from 'valibot';
import type { HandedIn } from '../../../functions/connect/grant.ts';
import { CommandError } from '../../../operations/errors.ts';
import { createApplicationSecret } from '../../../shared/aws/application-secret.ts';
import { invoke } from '../../../shared/aws/refresh-requester.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import {
  type ConnectAnswer,
  type ConnectAnswerKind,
  type ConnectEvent,
  connectAnswers,
} from '../../../shared/contract/connect.ts';
import { type FaultKind, faultKinds, PartnerError } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { explainShape } from '../../shared/explain.ts';
import type { Applications, Connections, Disconnections } from '../ports/connections.ts';
import type { StackBridge } from './bridge.ts';
import { stackLetters } from './stored-letters.ts';

export function stackApplications(bridge: StackBridge): Applications {
  return {
    store: ({ clientId, clientSecret }) =>
      createApplicationSecret(bridge.clients.secrets, bridge.secretNames)
        .write({ clientId: new Secret(clientId), clientSecret })
        .catch((cause: unknown) => {
          if (!(cause instanceof Error) || cause.name !== 'ResourceNotFoundException') throw cause;
          throw new CommandError(
            `there is no secret ${bridge.secretNames.application}: deploy the stack again with \`npx cdk deploy\``,
            { cause },
          );
        }),
    check: () => ask(bridge, { action: 'check' }, 'accepted'),
  };
}

export function stackConnections(bridge: StackBridge): Connections {
  return {
    authorizeUrl: async (request) =>
      (await ask(bridge, { action: 'authorize', ...request }, 'authorize')).url,
    async connect({ partnerAccount, since, sameUser, newUser, ...credential }) {
      const request = { partnerAccount, since, sameUser, newUser, ...revealed(credential) };
      const { kind: _kind, ...account } = await ask(bridge, { action: 'connect', ...request }, 'connected');
      return account;
    },
    deadLetters: stackLetters(bridge).letters,
  };
}

export function stackDisconnections(bridge: StackBridge): Disconnections {
  return {
    accounts: bridge.state.partnerAccounts,
    async disconnect(partnerAccount, { forget }) {
      const event = { action: 'disconnect', partnerAccount, forget } as const;
      if (!forget) return (await ask(bridge, event, 'disconnected')).known;
      const { generation } = await ask(bridge, event, 'forgetting');
      if (generation === null) return false;
      // All steps can be repeated as long as the name is known, so the function removes the name last.
      await bridge.state.advertHistories.remove(partnerAccount, generation);
      await ask(bridge, { action: 'forget', partnerAccount, generation }, 'forgotten');
      return true;
    },
  };
}

const revealed = (credential: HandedIn) =>
  'code' in credential
    ? { code: credential.code.reveal(), redirectUri: credential.redirectUri }
    : { refreshToken: credential.refreshToken.reveal() };

/**
 * The connect function's answer.
 *
 * @throws {PartnerError | CommandError} if the function reports a failure
 * @throws {ShapeError} if its answer has an unexpected shape
 */
async function ask<K extends Exclude<ConnectAnswerKind, 'refused'>>(
  { clients, outputs, target }: StackBridge,
  event: ConnectEvent,
  kind: K,
): Promise<ConnectAnswer<K>> {
  const schema = v.variant('kind', [connectAnswers[kind], connectAnswers.refused]);
  const connectFunction = { client: clients.lambda, functionName: outputs.connectFunctionName };
  const text = await invoke(connectFunction, event);
  const answer = checkedJson(schema, text, 'answer of the connect function') as ConnectAnswer;
  if (answer.kind !== 'refused') return answer as ConnectAnswer<K>;
  const { fault, reason } = answer;
  throw (faultKinds as readonly string[]).includes(fault)
    ? new PartnerError(fault as FaultKind, reason)
    : new CommandError(explainShape(reason, { target }));
}
