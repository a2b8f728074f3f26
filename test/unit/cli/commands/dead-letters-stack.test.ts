import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBookKeeper } from '../../../../shared/aws/sqs.ts';
import { createStore, type Table } from '../../../../shared/aws/store.ts';
import { outputs } from '../../../../shared/contract/names.ts';
import { createAside, createDeadLetters } from '../../../../shared/state/aside.ts';
import { createBooksWriter } from '../../../../shared/state/books.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { startDynamo, startSqs } from '../../../helpers/aws/emulators.ts';
import { aLetter, aMessage } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { describedStack } from '../../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../../helpers/aws/stub-aws.ts';
import { partnerAccount } from '../../../helpers/records.ts';
import { cli } from '../run-cli.ts';

const cloudFormation = mockClient(CloudFormationClient);
const sts = mockClient(STSClient);
const Arn = 'arn:aws:sts::111122223333:assumed-role/Operator/ann';
const { name, generation } = partnerAccount();

let dynamo: Awaited<ReturnType<typeof startDynamo>>;
let sqs: Awaited<ReturnType<typeof startSqs>>;
let table: Table;
let queue: ReturnType<typeof sqs.createQueue>;

beforeAll(async () => {
  [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
});
afterAll(async () => {
  cloudFormation.restore();
  sts.restore();
  await Promise.all([dynamo.stop(), sqs.stop()]);
});

beforeEach(async () => {
  table = await dynamo.feedStateTable();
  queue = sqs.createQueue();
  stubAws({ region: 'us-east-1', dynamoDb: dynamo.url, sqs: sqs.url });
  const values = {
    [outputs.feedStateTableName]: table.name,
    [outputs.queueUrl]: queue.url,
  };
  sts.reset();
  sts.on(GetCallerIdentityCommand).resolves({ Arn });
  cloudFormation.reset();
  cloudFormation.on(DescribeStacksCommand).resolves({ Stacks: [describedStack(values)] });
  await createPartnerAccounts(createStore({ feedState: table })).add(partnerAccount());
  await createBooksWriter(createStore({ feedState: table })).add(name, generation, { deadLettered: 2 });
  await deadLetters().sendMalformed([
    aLetter({ advertId: '11', message: aMessage('11') }),
    aLetter({ advertId: 'x', fault: 'malformed-id', message: null, at: '2026-11-20T13:00:00.000Z' }),
  ]);
});

const deadLetters = () => createDeadLetters(createStore({ feedState: table }));

const deadLettered = async () =>
  (
    await createBookKeeper({
      store: createStore({ feedState: table }),
      aside: createAside(createStore({ feedState: table })),
      queue,
      deadLetters: deadLetters(),
    }).read(name, generation)
  ).deadLettered;

describe('dead-letters of a stack', () => {
  it('are listed by their ID, and shown by it', async () => {
    const listed = await cli('dead-letters list main --json');
    const found = JSON.parse(listed.stdout).deadLetters;
    const shown = await cli(`dead-letters show ${found[0].id}`);

    expect(listed).toMatchObject({ exitCode: 3, stderr: '' });
    expect(found).toMatchObject([
      { id: expect.stringMatching(/^main\/[0-9a-f]{16}$/), advertId: '11', fault: 'contract-broken' },
      { fault: 'malformed-id', message: null },
    ]);
    expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('fault:'), stderr: '' });
  });

  it('go back to the queue and out of the books, and what has nothing to send stays', async () => {
    const ended = await cli('dead-letters redrive main');

    expect(ended).toMatchObject({
      exitCode: 3,
      stdout: '',
      stderr: expect.stringContaining('nothing to send'),
    });
    expect(queue.bodies().map((body) => JSON.parse(body))).toEqual([aMessage('11')]);
    expect(await deadLetters().count()).toBe(1);
    expect(await deadLettered()).toBe(1);
  });

  it('are dropped by their IDs, and an ID that is gone is told', async () => {
    const listed = JSON.parse((await cli('dead-letters list --json')).stdout).deadLetters;
    const drop = () => cli(`dead-letters drop ${listed[1].id} --yes`);

    expect(await drop()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(Arn) });
    expect(await drop()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no dead letter') });
    expect(await deadLetters().count()).toBe(1);
    expect(await deadLettered()).toBe(2);
  });
});
