/** What an operator has the functions of a stack do, so that only they need tokens. */
import type { LambdaClient } from '@aws-sdk/client-lambda';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as v from 'valibot';
import type { HandedIn } from '../../functions/connect/connect-account.ts';
import type { BridgeFunctions } from '../../operations/bridge.ts';
import { forgetDeadLetters } from '../../operations/dead-letters.ts';
import { CommandError } from '../../operations/errors.ts';
import type { StackOutputs } from '../../operations/stack-outputs.ts';
import { invoke } from '../../shared/aws/refresh-requester.ts';
import { createApplicationSecret } from '../../shared/aws/secrets.ts';
import { checkedJson } from '../../shared/contract/checks.ts';
import {
  type ConnectAnswer,
  type ConnectAnswerKind,
  type ConnectEvent,
  connectAnswers,
  type PollEvent,
  pollAnswer,
} from '../../shared/contract/invocations.ts';
import type { SecretNames } from '../../shared/contract/names.ts';
import { type FaultKind, faultKinds, PartnerError } from '../../shared/domain/faults.ts';
import { Secret } from '../../shared/domain/secret.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { DeadLetters } from '../../shared/state/aside.ts';
import { explainShape } from '../shared/explain.ts';
import type { StackTarget } from '../shared/target.ts';

interface Stack {
  readonly target: StackTarget;
  readonly outputs: StackOutputs;
  readonly clients: { readonly lambda: LambdaClient; readonly secrets: SecretsManagerClient };
  readonly secretNames: SecretNames;
  readonly advertHistories: AdvertHistories;
  readonly deadLetters: DeadLetters;
}

export function stackFunctions(stack: Stack): BridgeFunctions {
  const { clients, secretNames, outputs } = stack;
  return {
    storeApplication: ({ clientId, clientSecret }) =>
      createApplicationSecret(clients.secrets, secretNames)
        .write({ clientId: new Secret(clientId), clientSecret })
        .catch((cause: unknown) => {
          if (!(cause instanceof Error) || cause.name !== 'ResourceNotFoundException') throw cause;
          throw new CommandError(
            `there is no secret ${secretNames.application}: deploy the stack again with \`npx cdk deploy\``,
            { cause },
          );
        }),
    checkApplication: () => ask(stack, { action: 'check' }, 'accepted'),
    authorizeUrl: async (request) => (await ask(stack, { action: 'authorize', ...request }, 'authorize')).url,

    async connect({ partnerAccount, since, sameUser, newUser, ...credential }) {
      const request = { partnerAccount, since, sameUser, newUser, ...revealed(credential) };
      const { kind: _kind, ...account } = await ask(stack, { action: 'connect', ...request }, 'connected');
      return account;
    },

    async disconnect(partnerAccount, { forget }) {
      const event = { action: 'disconnect', partnerAccount, forget } as const;
      if (!forget) return (await ask(stack, event, 'disconnected')).known;
      const { generation } = await ask(stack, event, 'forgetting');
      if (generation === null) return false;
      // All steps can be repeated as long as the name is known, so the function removes the name last.
      await stack.advertHistories.remove(partnerAccount, generation);
      await forgetDeadLetters(stack, partnerAccount, generation);
      await ask(stack, { action: 'forget', partnerAccount, generation }, 'forgotten');
      return true;
    },

    async poll(only) {
      const event: PollEvent = { action: 'poll', ...(only !== undefined && { partnerAccount: only }) };
      const drain = { client: clients.lambda, functionName: outputs.drainFunctionName };
      return checkedJson(pollAnswer, await invoke(drain, event), 'answer of drain');
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
  { clients, outputs, target }: Stack,
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
