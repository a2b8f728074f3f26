/** Opens a deployed stack for a command. Loads the AWS SDK, so it is imported only when a stack is meant. */
import { randomUUID } from 'node:crypto';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import * as v from 'valibot';
import { connectAnswers } from '../../../functions/connect/requests.ts';
import { functionConfig } from '../../../functions/runtime/config.ts';
import { createRefreshRequester, invoke } from '../../../shared/aws/refresh-requester.ts';
import { createApplicationSecret, createTokenVault } from '../../../shared/aws/secrets.ts';
import { createBookKeeper, createChangedAdvertsQueue } from '../../../shared/aws/sqs.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { checkedJson } from '../../../shared/contract/checks.ts';
import { type PollEvent, pollAnswer } from '../../../shared/contract/invocations.ts';
import { namePrefixOf, secretNamesOf } from '../../../shared/contract/names.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { createPartnerService } from '../../../shared/partner-api/partner-service.ts';
import { rowPorts } from '../../../shared/state/row-ports.ts';
import { type Bridge, once, silentObserver } from '../../operations/bridge.ts';
import { stackClients } from '../../operations/stack-clients.ts';
import { createStackClock } from '../../operations/stack-clock.ts';
import { readStackOutputs } from '../../operations/stack-outputs.ts';
import { readPast, readStackState } from '../../operations/stack-state.ts';
import type { StackTarget } from '../shared/target.ts';
import { tailBus } from './stack-tail.ts';

export type StackBridge = Awaited<ReturnType<typeof openStack>>;

const concurrency = 2;
const anyConnectAnswer = v.variant('kind', Object.values(connectAnswers));

/** @throws {CommandError} if the stack does not exist */
export async function openStack({ stack }: StackTarget, clients = stackClients()) {
  const stackClock = createStackClock(clients.cloudFormation, clients.dynamoDb);
  const outputs = await readStackOutputs(clients.cloudFormation, stack);
  const feedStateTable = { client: clients.dynamoDb, name: outputs.feedStateTableName };
  const advertStatusTable = { client: clients.dynamoDb, name: outputs.advertStatusTableName };
  const store = createStore({ feedState: feedStateTable, advertStatus: advertStatusTable });
  const queue = { client: clients.sqs, url: outputs.queueUrl };
  const { bridgeName: name } = outputs;
  const ports = rowPorts(store);
  const { aside, deadLetters } = ports;

  let baseUrl: string | undefined;
  /** The same for every function: those of the drain are read. */
  const settings = once(async () => {
    const { Environment } = await clients.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
    );
    const config = functionConfig('drain', Environment?.Variables ?? {});
    baseUrl = config.partnerBaseUrl;
    return config;
  });

  const service = once(async () => {
    const config = await settings();
    return createPartnerService({
      baseUrl: config.partnerBaseUrl,
      settings: config,
      concurrency,
      budgetStore: ports.budgetStore,
      observer: silentObserver,
      partnerAccounts: ports.partnerAccounts,
      tokenReader: createTokenVault(clients.secrets, secretNamesOf(config.namePrefix)),
      requester: createRefreshRequester({
        client: clients.lambda,
        functionName: outputs.refreshTokenFunctionName,
      }),
    });
  });

  return {
    outputs,
    /** Undefined until the settings are read. */
    baseUrl: () => baseUrl,
    name,
    clock: systemClock,
    newId: randomUUID,
    ...ports,
    store,
    settings,
    service,
    bookKeeper: createBookKeeper({ store, aside, deadLetters, queue }),
    // The whole queue counts, not only the account's messages, because live changes have priority over an operator's.
    queue: createChangedAdvertsQueue({ queue }),
    host: {
      kind: 'stack',
      version: outputs.version,
      clock: stackClock,
      read: (nowMs) => readStackState({ outputs, clients }, nowMs),
      past: (nowMs) => readPast({ outputs, clients }, nowMs),
    },
    storeApplication: (application) =>
      createApplicationSecret(clients.secrets, secretNamesOf(namePrefixOf(name))).write(application),
    async askConnect(event) {
      const functionName = outputs.connectFunctionName;
      const answer = await invoke({ client: clients.lambda, functionName }, event);
      return checkedJson(anyConnectAnswer, answer, 'answer of the connect function');
    },
    async poll(only) {
      const event: PollEvent = { action: 'poll', ...(only !== undefined && { partnerAccount: only }) };
      const drain = { client: clients.lambda, functionName: outputs.drainFunctionName };
      return checkedJson(pollAnswer, await invoke(drain, event), 'answer of drain');
    },
    async who() {
      // Every AWS identity may call this: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
      const { Arn, UserId = 'unknown' } = await clients.sts.send(new GetCallerIdentityCommand());
      return Arn ?? UserId;
    },
    // SQS counts approximately, for about a minute after the last message was sent.
    depthLagMs: 60_000,
    events: (partnerAccount, watch) => tailBus({ clients, outputs }, partnerAccount, watch),
  } satisfies Bridge & Record<string, unknown>;
}
