/** Catching up on a deployed stack. Loads the AWS SDK, so it is imported only when it is meant. */
import { randomUUID } from 'node:crypto';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { readStackOutputs } from '../../../operations/stack-outputs.ts';
import { createBackfills } from '../../../shared/aws/backfills.ts';
import { createBookKeeper } from '../../../shared/aws/book-keeper.ts';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import { createChangedAdvertsQueue } from '../../../shared/aws/changed-adverts-queue.ts';
import {
  dynamoDbClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../../shared/aws/clients.ts';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import { createRefreshRequester } from '../../../shared/aws/refresh-requester.ts';
import { createTokenReader } from '../../../shared/aws/token-vault.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { functionConfig } from '../../../shared/runtime/config.ts';
import { drainLimits } from '../../../shared/runtime/limits.ts';
import { type CatchUp, silent } from '../../shared/catch-up.ts';
import type { Target } from '../../shared/target.ts';

/** The settings of the stack are where the drain has them; what is asked of the service goes through its rate budget. */
export async function openDeployedCatchUp(target: Extract<Target, { kind: 'stack' }>): Promise<CatchUp> {
  const outputs = await readStackOutputs(target.stack);
  const clients = {
    dynamoDb: dynamoDbClient(),
    sqs: sqsClient(),
    secrets: secretsManagerClient(),
    lambda: lambdaClient(),
  };
  const { Environment } = await clients.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
  );
  const config = functionConfig('drain', Environment?.Variables ?? {});
  const table = { client: clients.dynamoDb, name: outputs.feedStateTableName };
  const queue = { client: clients.sqs, url: outputs.queueUrl };
  const deadLetterQueue = { client: clients.sqs, url: outputs.deadLetterQueueUrl };
  const baseUrl = config.partnerBaseUrl;
  const partner = createPartnerService({
    baseUrl,
    settings: config,
    budgetStore: createBudgetStore(table),
    observer: silent,
    accounts: createPartnerAccounts(table),
    tokenReader: createTokenReader(clients.secrets),
    requester: createRefreshRequester({
      client: clients.lambda,
      functionName: outputs.refreshTokenFunctionName,
    }),
  });
  const { accounts } = partner;
  const bookKeeper = createBookKeeper({ table, queue, deadLetterQueue });
  const generationOf = async (name: string) => (await accounts.read(name))?.value.generation;
  return {
    accounts,
    backfills: createBackfills(table),
    lister: partner,
    poll: {
      feedStates: createFeedStates(table),
      reader: partner,
      queue: createChangedAdvertsQueue({
        queue,
        // Whatever waits counts: a person's catching up stands back behind all others.
        maxWaiting: Number.POSITIVE_INFINITY,
        inFlightOf: async (name) => (await bookKeeper.read(name, (await generationOf(name)) ?? 0)).inFlight,
      }),
      deadLetters: createDeadLetters({ queue: deadLetterQueue }),
      observer: silent,
      clock: systemClock,
      newId: randomUUID,
      holder: `resync ${randomUUID()}`,
      settings: { overlapSeconds: config.overlapSeconds, ...drainLimits },
    },
    isDelivering: () => true,
    place: { target, baseUrl },
    close() {
      partner.client.close();
      for (const each of Object.values(clients)) each.destroy();
    },
  };
}
