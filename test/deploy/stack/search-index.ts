import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteItemCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { CreateArchiveCommand, DescribeReplayCommand, StartReplayCommand } from '@aws-sdk/client-eventbridge';
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { type Cloud, repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Outputs } from './cdk.ts';
import type { Received } from './subscriber.ts';

/** examples/search-index, deployed. */
export interface SearchIndex {
  /** What its table says of each advert, by `<partnerAccount>/<advertId>`; null: unavailable. */
  statuses(): Promise<Record<string, string | null>>;
  /** Hands these events to its queue again, as a bus that delivers at least once may. */
  sendAgain(events: readonly Received[]): Promise<void>;
  /** All that it has kept is lost. */
  empty(): Promise<void>;
  /** Replays the bus's whole archive. @returns the state in which the replay ended */
  replay(name: string): Promise<string>;
  /** @returns whether its queue was empty, and nothing in hand, before the time was over */
  idle(timeoutMs: number): Promise<boolean>;
  /** Puts a body into its queue as it is. */
  sendBody(body: string): Promise<void>;
  /** How many messages it has given up. */
  deadLetters(): Promise<number>;
  /** Takes the next of them out: its body, and why it was given up. */
  takeDeadLetter(): Promise<{ readonly body: string; readonly errorCode: string | undefined } | undefined>;
}

const archive = 'everything';
/** As for the bridge's own deploy. */
const timeoutMs = 240_000;

/**
 * Deploys the example as the other team would: from a folder of its own, where it and the packages that it depends on are
 * installed, with an archive of the bus, which CloudFormation of the emulator does not know.
 */
export async function deploySearchIndex(
  cloud: Cloud,
  bridge: Outputs,
  env: Record<string, string>,
  folder: string,
  processes: Processes,
): Promise<SearchIndex> {
  const app = join(folder, 'search-index');
  await cp(join(repository, 'examples', 'search-index'), app, { recursive: true });
  await linkPackages(app);
  await cloud.eventBridge.send(
    new CreateArchiveCommand({ ArchiveName: archive, EventSourceArn: bridge.eventBusArn }),
  );
  const outputsFile = join(app, 'outputs.json');
  const cdk = join(repository, 'node_modules', 'aws-cdk', 'bin', 'cdk');
  const settings = ['-c', `busName=${bridge.eventBusName}`, '--outputs-file', outputsFile];
  const command = {
    file: process.execPath,
    args: [cdk, 'deploy', '--require-approval', 'never', '--no-notices', ...settings],
    // Its packages are built when they are published: here the bridge's is its source.
    env: { ...env, NODE_OPTIONS: '--conditions=advert-bridge-source' },
    cwd: app,
  };
  const { code, stdout, stderr } = await processes.run(command, { timeoutMs });
  if (code !== 0) throw new Error(`cdk deploy of the example ended with ${code}\n${stdout}${stderr}`.trim());
  const { SearchIndex: outputs } = JSON.parse(await readFile(outputsFile, 'utf8'));
  return searchIndexOn(cloud, bridge.eventBusArn, outputs);
}

/** What `npm install` does, without the downloads. */
async function linkPackages(app: string): Promise<void> {
  const installed = join(repository, 'node_modules');
  const modules = join(app, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(installed)) await symlink(join(installed, name), join(modules, name));
  await symlink(repository, join(modules, 'advert-bridge'));
  await writeFile(join(app, 'package-lock.json'), '{}');
  // esbuild, which knows no NODE_OPTIONS, is told of the bridge's source by this.
  const paths = { 'advert-bridge/subscriber': [join(repository, 'subscriber', 'index.ts')] };
  const config = JSON.parse(await readFile(join(app, 'tsconfig.json'), 'utf8'));
  const compilerOptions = { ...config.compilerOptions, paths };
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify({ ...config, compilerOptions }));
}

function searchIndexOn(
  { dynamo, eventBridge, sqs }: Cloud,
  busArn: string,
  outputs: { readonly TableName: string; readonly QueueUrl: string; readonly DeadLetterQueueUrl: string },
): SearchIndex {
  const { TableName, QueueUrl, DeadLetterQueueUrl } = outputs;

  async function statuses(): Promise<Record<string, string | null>> {
    const kept: Record<string, string | null> = {};
    for await (const { Items = [] } of paginateScan(
      { client: dynamo },
      { TableName, ConsistentRead: true },
    )) {
      for (const { pk, status } of Items) kept[pk?.S ?? ''] = status?.S ?? null;
    }
    return kept;
  }

  async function sendBody(body: string): Promise<void> {
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: body }));
  }

  async function messagesIn(queueUrl: string): Promise<number> {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
    );
    const { ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible } = Attributes;
    return Number(ApproximateNumberOfMessages) + Number(ApproximateNumberOfMessagesNotVisible);
  }

  return {
    statuses,
    deadLetters: () => messagesIn(DeadLetterQueueUrl),
    async takeDeadLetter() {
      const { Messages: [letter] = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl: DeadLetterQueueUrl,
          MessageAttributeNames: ['All'],
          WaitTimeSeconds: 20,
        }),
      );
      if (!letter) return undefined;
      const { Body: body = '', MessageAttributes, ReceiptHandle } = letter;
      await sqs.send(new DeleteMessageCommand({ QueueUrl: DeadLetterQueueUrl, ReceiptHandle }));
      return { body, errorCode: MessageAttributes?.errorCode?.StringValue };
    },
    sendBody,
    async sendAgain(events) {
      for (const event of events) await sendBody(JSON.stringify(event));
    },
    async empty() {
      for (const pk of Object.keys(await statuses())) {
        await dynamo.send(new DeleteItemCommand({ TableName, Key: { pk: { S: pk } } }));
      }
    },
    async replay(name) {
      const archiveArn = busArn.replace(/event-bus\/.*/, `archive/${archive}`);
      await eventBridge.send(
        new StartReplayCommand({
          ReplayName: name,
          EventSourceArn: archiveArn,
          Destination: { Arn: busArn },
          EventStartTime: new Date(0),
          EventEndTime: new Date(),
        }),
      );
      for (;;) {
        const { State = '' } = await eventBridge.send(new DescribeReplayCommand({ ReplayName: name }));
        if (!['STARTING', 'RUNNING'].includes(State)) return State;
        await sleep(200);
      }
    },
    async idle(limitMs) {
      const until = Date.now() + limitMs;
      while (Date.now() < until) {
        if ((await messagesIn(QueueUrl)) === 0) return true;
        await sleep(200);
      }
      return false;
    },
  };
}
