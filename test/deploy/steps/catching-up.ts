import assert from 'node:assert/strict';
import {
  CreateArchiveCommand,
  DescribeRuleCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { CreateQueueCommand, GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { detailTypes, eventSource } from '../../../shared/contract/names.ts';
import type { Cloud } from '../emulator/cloud.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { takeMessages } from '../stack/messages.ts';
import type { Received } from '../stack/subscriber.ts';
import { deliver } from './delivery.ts';

interface Details {
  readonly metadata: { readonly eventId: string; readonly generation: number; readonly sequence: number };
  readonly data: { readonly advertId: string; readonly status: string | null };
}

const detailOf = (event: Received): Details => event.detail as Details;
const idOf = (event: Received): string => detailOf(event).metadata.eventId;

/** The queue of a team that subscribes later. */
async function newQueue({ sqs }: Cloud, name: string) {
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: name }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const received: Received[] = [];
  return {
    url: QueueUrl,
    arn: Attributes?.QueueArn ?? '',
    received,
    async read(atLeast: number): Promise<readonly Received[]> {
      for (const until = Date.now() + onItsWayMs; received.length < atLeast && Date.now() < until; ) {
        received.push(...(await takeMessages(sqs, QueueUrl, 1)).map((body) => JSON.parse(body)));
      }
      return received;
    },
  };
}

/** The statuses at a subscriber that applies an event only when its (generation, sequence) is greater. */
function tableOf(events: readonly Received[]): Record<string, string | null> {
  const latest = new Map<string, Details>();
  for (const event of events) {
    const detail = detailOf(event);
    const { generation, sequence } = detail.metadata;
    const before = latest.get(detail.data.advertId)?.metadata ?? { generation: 0, sequence: 0 };
    if (generation > before.generation || (generation === before.generation && sequence > before.sequence)) {
      latest.set(detail.data.advertId, detail);
    }
  }
  return Object.fromEntries([...latest].map(([id, { data }]) => [id, data.status]));
}

/** Creates the archive as the stack does on AWS, because MiniStack's CloudFormation does not support it. */
export async function makeArchive({ steps, cloud, outputs }: Deployment): Promise<void> {
  await steps.check('the archive of the bus is made', async () => {
    await cloud.eventBridge.send(
      new CreateArchiveCommand({
        ArchiveName: 'adverts-archive',
        EventSourceArn: outputs.eventBusArn,
        EventPattern: JSON.stringify({ source: [eventSource] }),
        RetentionDays: 90,
      }),
    );
  });
}

/**
 * A new subscriber gets the snapshot and then live events, and a subscriber that lost events gets them again.
 *
 * @param replay runs the command of docs/subscribe/catching-up.md, and returns its output
 */
export async function catchingUpSteps(
  deployment: Deployment,
  replay: (values: Readonly<Record<string, string>>) => Promise<string>,
): Promise<void> {
  const { steps, advertBridge, sandbox, cloud, outputs, subscriber, say } = deployment;
  const { control } = sandbox;
  const begun = Date.now();
  const truth = () => Object.fromEntries(control.truth().map(({ id, status }) => [id, status]));

  await steps.check(
    'advert-bridge backfill gives every advert that was never seen its first event',
    async () => {
      const seen = new Set(subscriber.received.map((event) => detailOf(event).data.advertId));
      const fresh = control.truth().filter(({ id }) => !seen.has(id));
      const before = subscriber.received.length;
      const { stdout } = await advertBridge.run(['backfill', 'main', '--json']);
      say(stdout.trim());
      assert.equal(JSON.parse(stdout).listed, control.truth().length);
      await subscriber.readUntil(({ length }) => length >= before + fresh.length, onItsWayMs);
      assert.deepEqual(
        subscriber.received
          .slice(before)
          .map((event) => detailOf(event).data.advertId)
          .sort(),
        fresh.map(({ id }) => id).sort(),
      );
      assert.deepEqual(tableOf(subscriber.received), truth());
    },
  );

  const queue = await newQueue(cloud, 'a-later-teams-adverts');
  await steps.check(
    'a new subscriber comes from nothing to live without a gap: rule, then snapshot',
    async () => {
      await cloud.eventBridge.send(
        new PutRuleCommand({
          Name: 'a-later-teams-rule',
          EventBusName: outputs.eventBusName,
          EventPattern: JSON.stringify({
            source: [eventSource],
            'detail-type': [detailTypes.statusChanged, detailTypes.unavailable],
          }),
        }),
      );
      await cloud.eventBridge.send(
        new PutTargetsCommand({
          Rule: 'a-later-teams-rule',
          EventBusName: outputs.eventBusName,
          Targets: [{ Id: 'queue', Arn: queue.arn }],
        }),
      );
      const [first, second] = control.truth().map(({ id }) => id);
      control.setStatus(first ?? '', 'limited');
      await deliver(deployment, 1);
      const { stdout } = await advertBridge.run(['snapshot', '--to', queue.url, '--json']);
      assert.equal(JSON.parse(stdout).sent, control.truth().length);
      control.setStatus(second ?? '', 'unpaid');
      await deliver(deployment, 1);
      await queue.read(2 + control.truth().length);
      assert.deepEqual(tableOf(queue.received), truth());
      // The event that came live is also in the snapshot, as the same event.
      const known = new Map(subscriber.received.map((event) => [idOf(event), JSON.stringify(event.detail)]));
      for (const event of queue.received) assert.equal(JSON.stringify(event.detail), known.get(idOf(event)));
    },
  );

  // MiniStack 1.5.33 ignores FilterArns, so other subscribers get the replay here.
  await steps.check("the documented command replays the archive to a rule's queue", async () => {
    const before = queue.received.length;
    const others = subscriber.received.length;
    const published = new Set(subscriber.received.map(idOf));
    const { Arn = '' } = await cloud.eventBridge.send(
      new DescribeRuleCommand({ Name: 'a-later-teams-rule', EventBusName: outputs.eventBusName }),
    );
    const said = await replay({
      REPLAY_NAME: 'a-later-teams-replay',
      ARCHIVE_ARN: outputs.eventBusArn.replace(/:event-bus\/.*$/, ':archive/adverts-archive'),
      FROM: new Date(begun - 600_000).toISOString(),
      TO: new Date().toISOString(),
      BUS_ARN: outputs.eventBusArn,
      RULE_ARN: Arn,
    });
    say(said.trim());
    await queue.read(before + published.size);
    assert.deepEqual(new Set(queue.received.slice(before).map(idOf)), published);
    assert.deepEqual(tableOf(queue.received), truth());
    await subscriber.readUntil(({ length }) => length >= others + published.size, onItsWayMs);
  });

  await steps.check(
    'advert-bridge resync reads the feed again, and what is unchanged has no event',
    async () => {
      // After the malformed ID, which would otherwise be dead-lettered again.
      const since = new Date(begun).toISOString();
      const { stdout } = await advertBridge.run(['resync', 'main', '--since', since, '--json']);
      say(stdout.trim());
      assert.equal(JSON.parse(stdout).finished, true);
      await deliver(deployment, 0);
    },
  );
}
