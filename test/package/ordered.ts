/** A subscriber on the Custom Event Bus, from the kit's tarball: its app is synthesized, and its function runs on a FIFO queue. */
import { globSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { SQSBatchResponse } from 'aws-lambda';
import {
  anAdvertStatusChanged,
  anSqsRecord,
  aPartnerAuthorizationRequired,
} from '../../kits/typescript/testing/index.ts';
import { customEventBus } from '../../shared/aws/custom-event-bus.ts';
import { type startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { deleteHandled, receiveRecords } from '../helpers/aws/sqs-inbox.ts';
import { matches } from '../helpers/event-pattern.ts';
import type { Installed } from './kit.ts';
import { expect, installs, step, succeeds } from './steps.ts';

interface Subscriber {
  readonly Type: string;
  readonly FilterConfiguration: { readonly Filters: readonly { readonly Pattern: string }[] };
  readonly InvokeConfiguration: { readonly SqsParameters: Readonly<Record<string, string>> };
}
type Resources = Readonly<Record<string, { readonly Type: string; readonly Properties: never }>>;

const nobody = { send: () => Promise.reject(new Error('nothing is published here')) };
const { entryOf } = customEventBus(nobody, 'arn');

/** What the bus keeps of an event. */
const kept = (event: object) => ({
  Data: event,
  SystemMetadata: entryOf(JSON.stringify(event)).SystemMetadata,
});

/** The value of an expression such as `{% $events.Data.detail.metadata.eventId %}`. */
function evaluated(expression: string | undefined, event: object): string {
  const path = /^\{% \$events\.(\S+) %\}$/.exec(expression ?? '')?.[1]?.split('.') ?? [];
  const value = path.reduce<unknown>((part, name) => (part as Record<string, unknown>)?.[name], event);
  // Neither an empty text nor a missing one is delivered, and SQS takes 128 characters.
  expect(typeof value === 'string' && /^[!-~]{1,128}$/.test(value), `${expression} is ${value}`);
  return String(value);
}

/** @param dynamo with the variables by which the function's client finds it */
export async function checkOrdered(
  { repository, folder, kit, env }: Installed,
  versioned: (name: string) => string,
  dynamo: Awaited<ReturnType<typeof startDynamo>>,
): Promise<void> {
  const project = join(folder, 'ordered');
  let resources: Resources = {};
  const only = <P>(type: string): P => {
    const found = Object.values(resources).filter(({ Type }) => Type === `AWS::${type}`);
    expect(found.length === 1, `${found.length} of ${type}`);
    return found[0]?.Properties as P;
  };

  await step('an app of its own subscribes to the Custom Event Bus, and synthesizes', async () => {
    await mkdir(project);
    const manifest = { name: 'ordered', private: true, type: 'module' };
    await writeFile(join(project, 'package.json'), JSON.stringify(manifest));
    const others = ['aws-cdk-lib', 'constructs', 'esbuild', '@aws-sdk/client-dynamodb'];
    await installs(project, env, kit, ...others.map(versioned));
    for (const file of ['app.ts', 'handler.ts'])
      await cp(join(repository, 'test/package/fresh', `ordered-${file}`), join(project, file));
    resources = JSON.parse(await succeeds(project, { ...env, CDK_VALIDATION: 'false' }, 'node', 'app.ts'));
    const { Type } = only<Subscriber>('EventsV2::Subscriber');
    const { FunctionResponseTypes } = only<{ FunctionResponseTypes: string[] }>('Lambda::EventSourceMapping');
    expect(Type === 'FIFO' && `${FunctionResponseTypes}` === 'ReportBatchItemFailures', Type);
  });

  await step('its function applies a FIFO queue in order, around a failure', async () => {
    const sqs = await startSqs();
    try {
      const { FilterConfiguration, InvokeConfiguration } = only<Subscriber>('EventsV2::Subscriber');
      const { MessageGroupId: group, MessageDeduplicationId: id } = InvokeConfiguration.SqsParameters;
      const queue = sqs.createQueue('fifo');
      const advert = (advertId: string, sequence: number) => anAdvertStatusChanged({ advertId, sequence });
      const published = [
        ...[advert('1', 1), advert('2', 1), advert('2', 2), aPartnerAuthorizationRequired()],
        ...[advert('2', 3), advert('1', 2), advert('3', 1), advert('2', 4), advert('1', 3)],
      ].map(kept);
      for (const event of published) {
        const isAsked = FilterConfiguration.Filters.some(({ Pattern }) =>
          matches(JSON.parse(Pattern), event.Data),
        );
        if (!isAsked) continue;
        const sent = new SendMessageCommand({
          ...{ QueueUrl: queue.url, MessageBody: JSON.stringify(event.Data) },
          ...{ MessageGroupId: evaluated(group, event), MessageDeduplicationId: evaluated(id, event) },
        });
        // Retries of the bus, which SQS drops.
        for (const client of [queue.client, queue.client]) await client.send(sent);
      }
      const [bundle = ''] = globSync('ordered-assembly/asset.*/index.js', { cwd: folder });
      const invoked = `
        const { handler } = require('./${bundle}');
        handler(JSON.parse(process.argv[1]), { getRemainingTimeInMillis: () => 30_000 }).then((answer) =>
          console.log(JSON.stringify(answer)));`;
      const { name: POSITIONS_TABLE_NAME } = await dynamo.positionsTable();
      const applied: string[] = [];
      async function invoke(Records: readonly object[], FAILS = ''): Promise<SQSBatchResponse> {
        const call = ['-e', invoked, JSON.stringify({ Records })];
        const said = await succeeds(folder, { ...env, FAILS, POSITIONS_TABLE_NAME }, 'node', ...call);
        applied.push(...said.split('\n').filter((line) => /^\d\/\d$/.test(line)));
        return JSON.parse(said.split('\n').at(-1) ?? '');
      }

      // One batch, as SQS may hand it out; nothing of it is deleted, as if the function's time had run out then.
      const batch = queue.messages().map(({ body, groupId }) => {
        const { eventId } = JSON.parse(body).detail.metadata;
        return anSqsRecord(body, eventId, groupId);
      });
      const { batchItemFailures } = await invoke(batch, '2/2');
      const back = batchItemFailures.map(({ itemIdentifier }) =>
        itemIdentifier.split('/').slice(-2).join('/'),
      );
      expect(back.join() === '2/2,2/3,2/4', `these go back: ${back}`);
      expect(applied.includes('1/3'), `advert 2 held up others: ${applied}`);
      const receive = () => receiveRecords(queue, 60);
      for (let records = await receive(); records.length > 0; records = await receive())
        await deleteHandled(queue, records, await invoke(records));
      const of = (advertId: string) => applied.filter((name) => name.startsWith(`${advertId}/`)).join();
      const all = ['1', '2', '3'].map(of).join(' ');
      expect(all === '1/1,1/2,1/3 2/1,2/2,2/3,2/4 3/1', `it applied ${applied}`);
      expect(queue.bodies().length === 0, `${queue.bodies().length} messages are left`);
    } finally {
      await sqs.stop();
    }
  });
}
