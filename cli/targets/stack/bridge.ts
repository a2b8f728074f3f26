/** A bridge deployed as a stack, as the commands see it. Loads the AWS SDK, so it is imported only when it is meant. */
import * as v from 'valibot';
import { CommandError } from '../../../operations/errors.ts';
import { readStackOutputs, type StackOutputs } from '../../../operations/stack-outputs.ts';
import { readStatus } from '../../../operations/status.ts';
import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { createApplicationSecret } from '../../../shared/aws/application-secret.ts';
import { createBookKeeper } from '../../../shared/aws/book-keeper.ts';
import { createBooks } from '../../../shared/aws/books.ts';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import {
  dynamoDbClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../../shared/aws/clients.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import { createStoredLetters } from '../../../shared/aws/redrive.ts';
import { invoke } from '../../../shared/aws/refresh-requester.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import {
  type ConnectAnswer,
  type ConnectAnswerKind,
  type ConnectEvent,
  connectAnswers,
} from '../../../shared/contract/connect.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { type FaultKind, faultKinds, PartnerError } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { Bridge, Credential, OpenBridge } from '../../shared/bridge.ts';
import { explainShape } from '../../shared/explain.ts';
import type { Target } from '../../shared/target.ts';

type StackTarget = Extract<Target, { kind: 'stack' }>;

/** @throws {CommandError} when there is no such stack */
export async function openDeployedBridge(target: StackTarget): Promise<OpenBridge> {
  const outputs = await readStackOutputs(target.stack);
  return { bridge: createDeployedBridge(target, outputs), place: { target } };
}

function createDeployedBridge(target: StackTarget, outputs: StackOutputs): Bridge {
  const clients = {
    dynamoDb: dynamoDbClient(),
    sqs: sqsClient(),
    secrets: secretsManagerClient(),
    lambda: lambdaClient(),
  };
  const table = { client: clients.dynamoDb, name: outputs.feedStateTableName };
  const queue = { client: clients.sqs, url: outputs.queueUrl };
  const deadLetterQueue = { client: clients.sqs, url: outputs.deadLetterQueueUrl };
  const ports = {
    partnerAccounts: createPartnerAccounts(table),
    feedStates: createFeedStates(table),
    budgetStore: createBudgetStore(table),
    bookKeeper: createBookKeeper({ table, queue, deadLetterQueue }),
  };
  const connectFunction = { client: clients.lambda, functionName: outputs.connectFunctionName };

  /** @throws what the function was refused for; {ShapeError} when it answers otherwise than agreed */
  async function ask<K extends Exclude<ConnectAnswerKind, 'refused'>>(
    event: ConnectEvent,
    kind: K,
  ): Promise<ConnectAnswer<K>> {
    const schema = v.variant('kind', [connectAnswers[kind], connectAnswers.refused]);
    const text = await invoke(connectFunction, event);
    const answer = checkedJson(schema, text, 'answer of the connect function') as ConnectAnswer;
    if (answer.kind === 'refused') throw refusalOf(answer, target);
    return answer as ConnectAnswer<K>;
  }

  return {
    async storeApplication({ clientId, clientSecret }) {
      await createApplicationSecret(clients.secrets)
        .write({ clientId: new Secret(clientId), clientSecret })
        .catch((cause: unknown) => {
          if (!(cause instanceof Error) || cause.name !== 'ResourceNotFoundException') throw cause;
          throw new CommandError(
            `there is no secret ${secretNames.application}: deploy the stack again with \`npx cdk deploy\``,
            { cause },
          );
        });
    },

    async checkApplication() {
      return { scope: (await ask({ action: 'check' }, 'accepted')).scope };
    },

    async authorizeUrl(request) {
      return (await ask({ action: 'authorize', ...request }, 'authorize')).url;
    },

    async connect({ partnerAccount, since, sameUser, newUser, ...credential }) {
      const request = { partnerAccount, since, sameUser, newUser, ...revealed(credential) };
      const { kind: _kind, ...account } = await ask({ action: 'connect', ...request }, 'connected');
      return account;
    },

    deadLetters: createStoredLetters({ queue, deadLetterQueue, books: createBooks(table) }),

    names: async () => (await ports.partnerAccounts.list()).map(({ name }) => name),

    async disconnect(partnerAccount, { forget }) {
      if (!(await ports.partnerAccounts.read(partnerAccount))) return false;
      const event = { action: 'disconnect', partnerAccount, forget } as const;
      if (!forget) return (await ask(event, 'disconnected')).known;
      const { generation } = await ask(event, 'forgetting');
      if (generation === null) return false;
      // As long as the name is known, all of it can be done again; so the function forgets it last.
      await createAdvertHistories({
        client: clients.dynamoDb,
        name: outputs.advertStatusTableName,
      }).remove(partnerAccount, generation);
      await ask({ action: 'forget', partnerAccount, generation }, 'forgotten');
      return true;
    },

    status: (partnerAccount) => readStatus(ports, Date.now(), partnerAccount),

    async close() {
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}

const revealed = (credential: Credential) =>
  'code' in credential
    ? { code: credential.code.reveal(), redirectUri: credential.redirectUri }
    : { refreshToken: credential.refreshToken.reveal() };
function refusalOf({ fault, reason }: ConnectAnswer<'refused'>, target: StackTarget): Error {
  if ((faultKinds as readonly string[]).includes(fault)) return new PartnerError(fault as FaultKind, reason);
  return new CommandError(explainShape(reason, { target }));
}
