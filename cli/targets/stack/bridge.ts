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
  const ask = (request: unknown) => invoke(connectFunction, request);

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
      return { scope: answerOf(checkAnswer, await ask({ action: 'check' }), target).scope };
    },

    async authorizeUrl(request) {
      const answer = await ask({ action: 'authorize', ...request });
      return answerOf(authorizeAnswer, answer, target).url;
    },

    async connect({ partnerAccount, since, sameUser, newUser, ...credential }) {
      const answer = await ask({
        action: 'connect',
        partnerAccount,
        ...revealed(credential),
        ...(since === undefined ? {} : { since }),
        ...(sameUser === undefined ? {} : { sameUser }),
        ...(newUser === undefined ? {} : { newUser }),
      });
      const { kind: _kind, ...account } = answerOf(connectAnswer, answer, target);
      return account;
    },

    deadLetters: createStoredLetters({ queue, deadLetterQueue, books: createBooks(table) }),

    names: async () => (await ports.partnerAccounts.list()).map(({ name }) => name),

    async disconnect(partnerAccount, { forget }) {
      if (!(await ports.partnerAccounts.read(partnerAccount))) return false;
      const answer = await ask({ action: 'disconnect', partnerAccount, forget });
      if (!forget) return answerOf(disconnectAnswer, answer, target).known;
      const { generation } = answerOf(forgettingAnswer, answer, target);
      if (generation === null) return false;
      // As long as the name is known, all of it can be done again; so the function forgets it last.
      await createAdvertHistories({
        client: clients.dynamoDb,
        name: outputs.advertStatusTableName,
      }).remove(partnerAccount, generation);
      answerOf(forgottenAnswer, await ask({ action: 'forget', partnerAccount, generation }), target);
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
const disconnectAnswer = v.object({ kind: v.literal('disconnected'), known: v.boolean() });
const forgettingAnswer = v.object({ kind: v.literal('forgetting'), generation: v.nullable(v.number()) });
const forgottenAnswer = v.object({ kind: v.literal('forgotten') });
const checkAnswer = v.object({ kind: v.literal('accepted'), scope: v.string() });

const authorizeAnswer = v.object({ kind: v.literal('authorize'), url: v.string() });
const connectAnswer = v.object({
  kind: v.literal('connected'),
  partnerAccount: v.string(),
  generation: v.number(),
  scope: v.string(),
  tokenExpiresAt: v.string(),
  isNew: v.boolean(),
  userUnverified: v.exactOptional(v.string()),
  feed: v.variant('kind', [
    v.object({ kind: v.literal('read'), listed: v.number(), hasMore: v.boolean() }),
    v.object({ kind: v.literal('failed'), fault: v.picklist(faultKinds), reason: v.string() }),
  ]),
});
const refusedAnswer = v.object({ kind: v.literal('refused'), fault: v.string(), reason: v.string() });

/** @throws what the function was refused for; {ShapeError} when it answers otherwise than agreed */
function answerOf<
  S extends
    | typeof authorizeAnswer
    | typeof connectAnswer
    | typeof checkAnswer
    | typeof disconnectAnswer
    | typeof forgettingAnswer
    | typeof forgottenAnswer,
>(schema: S, text: string, target: StackTarget): v.InferOutput<S> {
  const answer = checkedJson(v.union([schema, refusedAnswer]), text, 'answer of the connect function');
  if (answer.kind === 'refused') throw refusalOf(answer as v.InferOutput<typeof refusedAnswer>, target);
  return answer as v.InferOutput<S>;
}

function refusalOf({ fault, reason }: { fault: string; reason: string }, target: StackTarget): Error {
  if ((faultKinds as readonly string[]).includes(fault)) return new PartnerError(fault as FaultKind, reason);
  return new CommandError(explainShape(reason, { target }));
}
