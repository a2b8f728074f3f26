import assert from 'node:assert/strict';
import { DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { advertStatusTable, feedStateTable } from '../../../shared/contract/tables.ts';
import { onItsWayMs } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import type { Exercise, Scene } from './scene.ts';

async function generationOf({ deployment, account }: Scene): Promise<number> {
  const { partnerAccounts } = await deployment.advertBridge.status();
  return partnerAccounts.find(({ name }) => name === account)?.generation ?? 0;
}

/** It became `limited` while the service was down, longer ago than `overlapSeconds`: no change explains what is wrong with it. */
const advertOf = ({ adverts }: Scene): string => adverts[1] ?? '';

export const wrongHistory: Exercise = {
  alarm: 'AuditDifferences',
  provokedBy: "somebody edited an advert's row in the advert-status table; a day later",
  mendedBy: 'audit NAME --repair',

  async provoke(scene) {
    const { deployment, account } = scene;
    const { cloud, outputs } = deployment;
    const generation = await generationOf(scene);
    await cloud.dynamo.send(
      new UpdateItemCommand({
        TableName: outputs.advertStatusTableName,
        Key: { [advertStatusTable.partitionKey]: { S: `${account}/${generation}/${advertOf(scene)}` } },
        ConditionExpression: '#status = :before',
        UpdateExpression: 'SET #status = :edited',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':before': { S: 'limited' }, ':edited': { S: 'sold' } },
      }),
    );
    // The audit of today, if there was one, is forgotten.
    const audit = { S: `${account}/${generation}/daily-audit` };
    await cloud.dynamo.send(
      new DeleteItemCommand({
        TableName: outputs.feedStateTableName,
        Key: { [feedStateTable.partitionKey]: { S: 'books' }, [feedStateTable.sortKey]: audit },
      }),
    );
  },
  // Every quarter of an hour on the schedule.
  meanwhile: async ({ deployment: { cloud, outputs } }) =>
    void (await invoke(cloud, outputs.auditFunctionName)),

  async mend(scene) {
    const { account: NAME, deployment } = scene;
    const { outputs, subscriber } = deployment;
    const log = await scene.follow('log', { FUNCTION: outputs.auditFunctionName });
    assert.match(log, /the audit found what was published and is not so/);
    assert.match(log, new RegExp(`"adverts":\\["${advertOf(scene)}"\\]`));
    const found = await scene.follow('audit', { NAME, ADVERT: advertOf(scene) }, [3]);
    assert.match(found, /published as "sold", the service says "limited"/);
    const before = subscriber.received.length;
    await scene.follow('audit-repair', { NAME });
    assert.ok(await subscriber.readUntil(({ length }) => length > before, onItsWayMs), 'the event comes');
    assert.match(JSON.stringify(subscriber.received.at(-1)), /"cause":"audit"/);
  },
};
