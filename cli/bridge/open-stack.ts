/** Opens a deployed stack for a command. Loads the AWS SDK, so it is imported only when a stack is meant. */
import { randomUUID } from 'node:crypto';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { once } from '../../operations/ask.ts';
import type { Bridge } from '../../operations/bridge.ts';
import { silentObserver } from '../../operations/poll-deps.ts';
import { readStackOutputs } from '../../operations/stack-outputs.ts';
import { readPast, readStackState } from '../../operations/stack-state.ts';
import { dynamoDbClient, lambdaClient, secretsManagerClient, sqsClient } from '../../shared/aws/clients.ts';
import { createRefreshRequester } from '../../shared/aws/refresh-requester.ts';
import { createTokenReader } from '../../shared/aws/secrets.ts';
import { createBookKeeper, createChangedAdvertsQueue } from '../../shared/aws/sqs.ts';
import { createStore } from '../../shared/aws/store.ts';
import { namePrefixOf, secretNamesOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { createPartnerService } from '../../shared/partner-api/partner-service.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { createActivityStore } from '../../shared/state/activity.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createAside, createDeadLetters, waitingAside } from '../../shared/state/aside.ts';
import { createBooksWriter } from '../../shared/state/books.ts';
import { createBudgetStore } from '../../shared/state/budget.ts';
import { createFeedStates } from '../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { type AuditProgress, type BackfillProgress, createProgress } from '../../shared/state/progress.ts';
import type { StackTarget } from '../shared/target.ts';
import type { Opening } from './opening.ts';
import { stackFunctions } from './stack-functions.ts';
import { tailBus } from './stack-tail.ts';

export type StackBridge = Awaited<ReturnType<typeof openStack>>;

/** Number of connections to the partner service. */
const concurrency = 2;

/** @throws {CommandError} if the stack does not exist */
export async function openStack({ target, place, onClose, isCatchUp }: Opening<StackTarget>) {
  const outputs = await readStackOutputs(target);
  if (isCatchUp) place.catchUpRoleArn = outputs.catchUpRoleArn;
  const clients = {
    dynamoDb: dynamoDbClient(),
    sqs: sqsClient(),
    secrets: secretsManagerClient(),
    lambda: lambdaClient(),
    sts: new STSClient({ maxAttempts: 3 }),
  };
  onClose(() => {
    for (const client of Object.values(clients)) client.destroy();
  });
  const feedStateTable = { client: clients.dynamoDb, name: outputs.feedStateTableName };
  const advertStatusTable = { client: clients.dynamoDb, name: outputs.advertStatusTableName };
  const store = createStore({ feedState: feedStateTable, advertStatus: advertStatusTable });
  const queue = { client: clients.sqs, url: outputs.queueUrl };
  const { bridgeName: name } = outputs;
  const secretNames = secretNamesOf(namePrefixOf(name));
  const aside = createAside(store);
  const deadLetters = createDeadLetters(store);
  const budgetStore = createBudgetStore(store);
  const partnerAccounts = createPartnerAccounts(store);
  const advertHistories = createAdvertHistories(store);

  /** The same for every function: those of the drain are read. */
  const settings = once(async () => {
    const { Environment } = await clients.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
    );
    const config = functionConfig('drain', Environment?.Variables ?? {});
    place.baseUrl = config.partnerBaseUrl;
    return config;
  });

  const service = once(async () => {
    const config = await settings();
    const { client, ...readers } = createPartnerService({
      baseUrl: config.partnerBaseUrl,
      settings: config,
      concurrency,
      budgetStore,
      observer: silentObserver,
      accounts: partnerAccounts,
      tokenReader: createTokenReader(clients.secrets, secretNamesOf(config.namePrefix)),
      requester: createRefreshRequester({
        client: clients.lambda,
        functionName: outputs.refreshTokenFunctionName,
      }),
    });
    onClose(() => client.close());
    return readers;
  });

  return {
    outputs,
    kind: 'stack',
    name,
    clock: systemClock,
    newId: randomUUID,
    activity: createActivityStore(store),
    ...{ partnerAccounts, advertHistories, aside, budgetStore, settings, service },
    feedStates: createFeedStates(store, { countsListed: true }),
    backfills: createProgress<BackfillProgress>(store, 'backfill', { countsListed: true }),
    audits: createProgress<AuditProgress>(store, 'audit', { countsListed: true }),
    bookKeeper: createBookKeeper({ store, aside, deadLetters, queue }),
    // The whole queue counts, not only the account's messages, because live changes have priority over an operator's.
    queue: createChangedAdvertsQueue({ queue }),
    waitingMessages: waitingAside(aside),
    deadLetters,
    booksWriter: createBooksWriter(store),
    stack: {
      version: outputs.version,
      read: (nowMs) => readStackState({ bridge: name, outputs, lambda: clients.lambda }, nowMs),
      past: (nowMs) => readPast({ bridge: name, outputs }, nowMs),
    },
    functions: stackFunctions({ target, outputs, clients, secretNames, advertHistories, deadLetters }),
    async who() {
      // Every AWS identity may call this: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
      const { Arn, UserId = 'unknown' } = await clients.sts.send(new GetCallerIdentityCommand());
      return Arn ?? UserId;
    },
    isDelivering: () => true,
    // SQS counts approximately, for about a minute after the last message was sent.
    depthLagMs: 60_000,
    events: (of, watch) => tailBus({ sqs: clients.sqs, outputs, onClose }, of, watch),
  } satisfies Bridge & Record<string, unknown>;
}
