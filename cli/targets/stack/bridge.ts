/** A deployed stack, opened for a command. Loads the AWS SDK, so it is imported only when a stack is meant. */
import { readStackOutputs, type StackOutputs } from '../../../operations/stack-outputs.ts';
import {
  dynamoDbClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../../shared/aws/clients.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { namePrefixOf, type SecretNames, secretNamesOf, stackName } from '../../../shared/contract/names.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { createBudgetStore } from '../../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import type { StackTarget } from '../../shared/target.ts';
import type { Opening } from '../ports/opening.ts';

export type StackBridge = Awaited<ReturnType<typeof openStackBridge>>;

/** @throws {CommandError} if the stack does not exist */
export async function openStackBridge(opening: Opening<StackTarget>) {
  const { target, onClose } = opening;
  const outputs: StackOutputs = await readStackOutputs(target);
  const clients = {
    dynamoDb: dynamoDbClient(),
    sqs: sqsClient(),
    secrets: secretsManagerClient(),
    lambda: lambdaClient(),
  };
  onClose(() => {
    for (const client of Object.values(clients)) client.destroy();
  });
  const feedStateTable = { client: clients.dynamoDb, name: outputs.feedStateTableName };
  const advertStatusTable = { client: clients.dynamoDb, name: outputs.advertStatusTableName };
  const store = createStore({ feedState: feedStateTable, advertStatus: advertStatusTable });
  // Before bridges had names, the names of their secrets were fixed.
  const secretNames: SecretNames = secretNamesOf(namePrefixOf(outputs.bridgeName ?? stackName));
  return {
    ...opening,
    outputs,
    clients,
    secretNames,
    /** Prefix of its alarms' names. */
    name: outputs.bridgeName ?? target.stack,
    store,
    feedStateTable,
    advertStatusTable,
    /** The same ports under the same names as in the state of an embedded bridge. */
    state: {
      aside: createAside(store),
      partnerAccounts: createPartnerAccounts(store),
      feedStates: createFeedStates(feedStateTable),
      budgetStore: createBudgetStore(store),
      advertHistories: createAdvertHistories(store),
    },
    queue: { client: clients.sqs, url: outputs.queueUrl },
    deadLetterQueue: { client: clients.sqs, url: outputs.deadLetterQueueUrl },
  };
}
