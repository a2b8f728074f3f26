import { randomUUID } from 'node:crypto';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { createChangedAdvertsQueue } from '../../../shared/aws/changed-adverts-queue.ts';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { createRefreshRequester } from '../../../shared/aws/refresh-requester.ts';
import { createTokenReader } from '../../../shared/aws/token-vault.ts';
import { secretNamesOf } from '../../../shared/contract/names.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { functionConfig } from '../../../shared/runtime/config.ts';
import { drainLimits } from '../../../shared/runtime/limits.ts';
import { createProgress } from '../../../shared/state/progress.ts';
import { silentObserver } from '../../shared/silent-observer.ts';
import { type CatchUp, concurrency } from '../ports/catch-up.ts';
import type { StackBridge } from './bridge.ts';

/** Catching up on a stack, with its drain's settings and within its rate budget. */
export async function stackCatchUp(bridge: StackBridge): Promise<CatchUp> {
  const { clients, outputs, state, store, queue, deadLetterQueue, place, onClose } = bridge;
  place.catchUpRoleArn = outputs.catchUpRoleArn;
  const { Environment } = await clients.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
  );
  const config = functionConfig('drain', Environment?.Variables ?? {});
  place.baseUrl = config.partnerBaseUrl;
  const partner = createPartnerService({
    baseUrl: config.partnerBaseUrl,
    settings: config,
    concurrency,
    budgetStore: state.budgetStore,
    observer: silentObserver,
    accounts: state.partnerAccounts,
    tokenReader: createTokenReader(clients.secrets, secretNamesOf(config.namePrefix)),
    requester: createRefreshRequester({
      client: clients.lambda,
      functionName: outputs.refreshTokenFunctionName,
    }),
  });
  onClose(() => partner.client.close());
  const { accounts } = partner;
  return {
    accounts,
    backfills: createProgress(store, 'backfill', { countsListed: true }),
    audits: createProgress(store, 'audit', { countsListed: true }),
    histories: state.advertHistories,
    publishedAdverts: state.advertHistories,
    lister: partner,
    poll: {
      feedStates: state.feedStates,
      reader: partner,
      // The whole queue counts, not only the account's messages, because live changes have priority over this command.
      queue: createChangedAdvertsQueue({ queue }),
      deadLetters: createDeadLetters({ queue: deadLetterQueue }),
      observer: silentObserver,
      clock: systemClock,
      newId: randomUUID,
      holder: `resync ${randomUUID()}`,
      settings: {
        overlapSeconds: config.overlapSeconds,
        maxRequestsPerSecond: config.maxRequestsPerSecond,
        ...drainLimits,
      },
    },
    isDelivering: () => true,
    // SQS counts approximately, for about a minute after the last message was sent.
    depthLagMs: 60_000,
  };
}
