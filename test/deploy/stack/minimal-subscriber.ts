import { paginateScan } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Cloud } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Outputs } from './cdk.ts';
import { deployExample } from './example.ts';

/** examples/minimal, deployed. */
export interface MinimalSubscriber {
  /** The last applied event of each advert, `generation/sequence` by `<partnerAccount>/<advertId>`. */
  positions(): Promise<Record<string, string>>;
  /** Number of messages in its dead-letter queue. */
  deadLetters(): Promise<number>;
}

export async function deployMinimalSubscriber(
  { dynamo, sqs }: Cloud,
  bridge: Outputs,
  env: Record<string, string>,
  folder: string,
  processes: Processes,
): Promise<MinimalSubscriber> {
  const { MinimalSubscriber: outputs } = await deployExample('minimal', bridge, env, folder, processes);
  const { PositionsTableName: TableName, DeadLetterQueueUrl: QueueUrl } = outputs as Record<string, string>;
  return {
    async positions() {
      const applied: Record<string, string> = {};
      for await (const { Items = [] } of paginateScan(
        { client: dynamo },
        { TableName, ConsistentRead: true },
      )) {
        for (const { pk, generation, sequence } of Items) {
          if (generation?.N) applied[pk?.S ?? ''] = `${generation.N}/${sequence?.N}`;
        }
      }
      return applied;
    },
    async deadLetters() {
      const { Attributes = {} } = await sqs.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
      );
      return Number(Attributes.ApproximateNumberOfMessages);
    },
  };
}
