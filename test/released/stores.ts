/** What a bridge keeps, by today's adapters: in tables, queues and secrets of AWS's, or in a state file. */
import { copyFileSync } from 'node:fs';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { PurgeQueueCommand, SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { createAdvertHistories } from '../../shared/aws/advert-histories.ts';
import { createApplicationSecret } from '../../shared/aws/application-secret.ts';
import { createAudits } from '../../shared/aws/audits.ts';
import { createBackfills } from '../../shared/aws/backfills.ts';
import { createBookKeeper, createBooksWriter } from '../../shared/aws/books.ts';
import { createBudgetStore } from '../../shared/aws/budget-store.ts';
import { createChangedAdvertsQueue } from '../../shared/aws/changed-adverts-queue.ts';
import { createDeadLetters } from '../../shared/aws/dead-letters.ts';
import { putAll } from '../../shared/aws/dynamodb/query.ts';
import type { Item } from '../../shared/aws/dynamodb/values.ts';
import { createFeedStates } from '../../shared/aws/feed-states.ts';
import { createParkedMessages } from '../../shared/aws/parked-messages.ts';
import { createPartnerAccounts } from '../../shared/aws/partner-accounts.ts';
import { createPublishedAdverts } from '../../shared/aws/published-adverts.ts';
import { BatchSettler } from '../../shared/aws/settler.ts';
import { createStoredLetters } from '../../shared/aws/stored-letters.ts';
import { createTokenVault } from '../../shared/aws/token-vault.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { secretNames } from '../../shared/contract/names.ts';
import type { ParkedMessages } from '../../shared/ports/parked-messages.ts';
import { stateFileIn } from '../../shared/sqlite/file/state-file.ts';
import { openEmbeddedState } from '../../shared/sqlite/state.ts';
import { startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { aReadersPolicy, fakeSecretsManager } from '../helpers/aws/fake-secrets-manager.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import type { ManualClock } from '../helpers/manual-clock.ts';
import { createRecordingObserver } from '../helpers/recording-observer.ts';

/** The state of a stack, as AWS would give it out. */
export interface StackState {
  readonly feedState: readonly Item[];
  readonly advertStatus: readonly Item[];
  readonly queue: readonly SentMessage[];
  readonly deadLetters: readonly SentMessage[];
  readonly secrets: Readonly<Record<string, { readonly text: string; readonly version: string }>>;
}

interface SentMessage {
  readonly body: string;
  readonly groupId: string;
}

export type Aws = Awaited<ReturnType<typeof startAws>>;

/** Emulators for as many bridges as are wanted, one after another. */
export async function startAws() {
  const [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  const secrets = fakeSecretsManager();
  return { dynamo, sqs, secrets, stop: () => Promise.all([dynamo.stop(), sqs.stop()]) };
}

/** The greatest number that a released queue has given to a message; those of the emulator begin at 1 with each queue. */
const numbersUsed = 100;

/** A deployed bridge's state. @param from what it has from the beginning. Default: nothing */
export async function stackStore({ dynamo, sqs, secrets }: Aws, clock: ManualClock, from?: StackState) {
  const [table, adverts] = [await dynamo.feedStateTable(), await dynamo.advertStatusTable()];
  const [queue, deadLetterQueue] = [sqs.createQueue(), sqs.createQueue()];
  secrets.start();
  const client = new SecretsManagerClient({ region: 'eu-central-1' });
  if (from) {
    await putAll(table, from.feedState);
    await putAll(adverts, from.advertStatus);
    for (const [name, { text, version }] of Object.entries(from.secrets)) secrets.set(name, text, version);
    // A queue goes on numbering where it was: a row that was written for a later message would not let an earlier one in.
    const used = Array.from({ length: numbersUsed }, (_, index) => ({ body: `${index}`, groupId: 'used' }));
    await sendAll(queue, used);
    await queue.client.send(new PurgeQueueCommand({ QueueUrl: queue.url }));
    await sendAll(queue, from.queue);
    await sendAll(deadLetterQueue, from.deadLetters);
  } else secrets.set(secretNames.application, undefined);
  const observer = createRecordingObserver();
  const books = createBooksWriter(table);
  const parked = createParkedMessages({ table, queue, deadLetterQueue, observer, clock });
  const settler = new BatchSettler({ queue, deadLetterQueue, books, parking: parked, observer });
  const letters = createStoredLetters({ queue, deadLetterQueue, books });
  const all = async (name: string): Promise<Item[]> => {
    const { Items = [] } = await table.client.send(new ScanCommand({ TableName: name }));
    return Items;
  };

  return {
    observer,
    state: {
      partnerAccounts: createPartnerAccounts(table),
      feedStates: createFeedStates(table),
      advertHistories: createAdvertHistories(adverts),
      publishedAdverts: createPublishedAdverts(adverts),
      queue: createChangedAdvertsQueue({ queue }),
      inbox: sqsInbox(queue, settler),
      malformed: createDeadLetters({ queue: deadLetterQueue }),
      parked: parked satisfies ParkedMessages as ParkedMessages,
      bookKeeper: createBookKeeper({ table, queue, deadLetterQueue }),
      audits: createAudits(table),
      backfills: createBackfills(table),
      vault: createTokenVault(client, secretNames, aReadersPolicy),
      applicationSecret: createApplicationSecret(client, secretNames),
      budgetStore: createBudgetStore(table, { clock }),
    },
    letters: async (): Promise<DeadLetter[]> => (await letters.list({})).letters.map(({ letter }) => letter),
    redrive: async () => (await letters.redrive({})).done.length,
    dump: async (): Promise<StackState> => ({
      feedState: await all(table.name),
      advertStatus: await all(adverts.name),
      queue: queue.messages(),
      deadLetters: deadLetterQueue.messages(),
      secrets: secrets.values(),
    }),
  };
}

type Queue = Parameters<typeof sqsInbox>[0];

async function sendAll(queue: Queue, messages: readonly SentMessage[]): Promise<void> {
  for (let from = 0; from < messages.length; from += 10) {
    const Entries = messages.slice(from, from + 10).map(({ body, groupId }, index) => ({
      ...{ Id: String(index), MessageBody: body, MessageGroupId: groupId },
      MessageDeduplicationId: `${from + index} ${groupId}`,
    }));
    await queue.client.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
  }
}

/** An embedded bridge's state in `dir`. @param from a state file that it begins with. Default: a new one */
export function fileStore(dir: string, clock: ManualClock, from?: string) {
  if (from !== undefined) copyFileSync(from, stateFileIn(dir));
  const { queue, parked, deadLetters, ...state } = openEmbeddedState(dir, { clock });
  const stored = () => deadLetters.list();
  return {
    observer: createRecordingObserver(),
    state: { ...state, parked, queue, inbox: queue, malformed: deadLetters },
    letters: async (): Promise<DeadLetter[]> => (await stored()).map(({ letter }) => letter),
    async redrive() {
      const outcomes = [];
      for (const { id } of await stored()) outcomes.push(await deadLetters.redrive(id));
      return outcomes.filter((outcome) => outcome === 'redriven').length;
    },
    close: state.close,
  };
}

/** Where a bridge keeps things, and what its operator does with dead letters. */
export type Store = Omit<Awaited<ReturnType<typeof stackStore>>, 'dump'>;
