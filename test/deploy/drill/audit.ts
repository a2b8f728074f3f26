import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { feedStateTable } from '../../../shared/contract/tables.ts';
import { onItsWayMs } from '../stack/deployment.ts';
import { drain, invoke } from '../stack/functions.ts';
import { deliver } from '../steps/delivery.ts';
import { expectPublished, latestOf, statusIn } from './changes.ts';
import type { Exercise, Scene } from './scene.ts';

/**
 * Longer than any `overlapSeconds` that this test deploys, so that earlier listings explain no difference any more.
 */
const longerThanOverlapMs = 13_000;
const dayMs = 24 * 60 * 60_000;

/** The advert for which a wrong status was published. */
const advertOf = ({ adverts }: Scene): string => adverts[7] ?? '';

/** Sets the start of the latest audit back by a day, because an audit draws its sample once a day. */
async function letDayPass({ deployment, account }: Scene): Promise<void> {
  const { cloud, outputs, advertBridge } = deployment;
  const { partnerAccounts } = await advertBridge.status();
  const generation = partnerAccounts.find(({ name }) => name === account)?.generation;
  const item = {
    TableName: outputs.feedStateTableName,
    Key: {
      [feedStateTable.partitionKey]: { S: 'books' },
      [feedStateTable.sortKey]: { S: `${account}/${generation}/daily-audit` },
    },
  };
  const { Item } = await cloud.dynamo.send(new GetItemCommand(item));
  const audit = JSON.parse(Item?.audit?.S ?? '{}');
  assert.equal(audit.state, 'done', 'the audit of before the difference');
  const startedAt = new Date(Date.parse(audit.startedAt) - dayMs).toISOString();
  await cloud.dynamo.send(
    new UpdateItemCommand({
      ...item,
      UpdateExpression: 'SET audit = :audit',
      ExpressionAttributeValues: { ':audit': { S: JSON.stringify({ ...audit, startedAt }) } },
    }),
  );
}

export const staleAnswer: Exercise = {
  alarm: 'AuditDifferences',
  provokedBy:
    'the service answers the request for a changed advert with what it was before, and never lists it again',
  mendedBy: 'audit NAME --ids, history; audit NAME, and --repair of what it names',

  /**
   * Invokes the audit, as the schedule does every quarter of an hour. The first audit finds nothing wrong, and must
   * not trigger the alarm.
   */
  async meanwhile({ deployment: { cloud, outputs } }) {
    await invoke(cloud, outputs.auditFunctionName);
  },

  async provoke(scene) {
    const { deployment, account } = scene;
    const { sandbox, cloud, outputs } = deployment;
    const { control } = sandbox;
    const id = advertOf(scene);
    await expectPublished(scene);
    control.setStatus(id, 'active');
    await deliver(deployment, 1);
    const stale = control.faults.add({
      ...{ kind: 'status', status: 200, endpoint: 'advert', user: account, advertId: id, count: 1 },
      headers: { 'content-type': 'application/json' },
      body: `{"data":{"id":${id},"status":"active"}}`,
    });
    control.setStatus(id, 'limited');
    await deliver(deployment, 0);
    const fault = control.faults.list().find((each) => each.id === stale);
    assert.equal(fault?.struck, 1, 'the advert was asked for, and the answer was the old one');
    await sleep(longerThanOverlapMs);
    await drain(cloud, outputs.drainFunctionName);
    await letDayPass(scene);
  },

  async mend(scene) {
    const { deployment, account } = scene;
    const { outputs, subscriber } = deployment;
    const id = advertOf(scene);
    const log = await scene.follow('log', { FUNCTION: outputs.auditFunctionName });
    const found = log.split('\n').find((line) => line.includes('published statuses that are wrong'));
    assert.ok(found?.includes(`"${id}"`), `the advert ${id} in:\n${log}`);
    assert.match(
      await scene.follow('audit', { NAME: account, ADVERT: id }),
      new RegExp(`^${id}: published as "active", the service says "limited"$`, 'm'),
    );
    assert.match(await scene.follow('history', { NAME: account, ADVERT: id }), /found unchanged at/);
    assert.match(await scene.follow('audit-repair', { NAME: account }), /sent through the queue/);
    const isRepair = (event?: AdvertEvent) =>
      event?.detail.metadata.cause === 'audit' && statusIn(event) === 'limited';
    const isTold = () => isRepair(latestOf(subscriber.received, id));
    assert.ok(await subscriber.readUntil(isTold, onItsWayMs), 'the repair is published');
  },
};
