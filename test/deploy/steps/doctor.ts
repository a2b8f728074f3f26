import assert from 'node:assert/strict';
import { ListEventSourceMappingsCommand, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { GetScheduleCommand, SchedulerClient, UpdateScheduleCommand } from '@aws-sdk/client-scheduler';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { secretNames } from '../../../shared/contract/names.ts';
import { awsAccount, region } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';

interface Check {
  readonly name: string;
  readonly result: 'ok' | 'warning' | 'fault' | 'skipped';
  readonly says: string;
  readonly mend: string | null;
}

/** A real finding: this deployment was made without `alarmEmail`. */
const expected = ['alarm-subscribers warning'];

/** Runs `doctor` on the correct deployment, and on one with deliberate faults. */
export async function doctorSteps({
  steps,
  say,
  cloud,
  outputs,
  advertBridge,
  sandbox,
}: Deployment): Promise<void> {
  const scheduler = new SchedulerClient({
    endpoint: cloud.endpoint,
    region,
    credentials: { accessKeyId: awsAccount, secretAccessKey: 'emulator' },
  });
  const setVisibility = (VisibilityTimeout: string) =>
    cloud.sqs.send(
      new SetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, Attributes: { VisibilityTimeout } }),
    );
  const { Attributes } = await cloud.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, AttributeNames: ['VisibilityTimeout'] }),
  );

  async function examined(): Promise<Check[]> {
    const { stdout } = await advertBridge.run(['doctor', '--json'], undefined, [0, 1, 3]);
    return (JSON.parse(stdout) as { checks: Check[] }).checks;
  }

  /** Its findings, without those that this deployment always has. */
  async function found(): Promise<Check[]> {
    return (await examined()).filter(
      ({ name, result }) => !['ok', 'skipped'].includes(result) && !expected.includes(`${name} ${result}`),
    );
  }

  async function expectOnly(name: string, mend: RegExp): Promise<void> {
    const [only, ...others] = await found();
    assert.deepEqual(others, []);
    assert.equal(only?.name, name);
    assert.equal(only?.result, 'fault');
    assert.match(only?.mend ?? '', mend);
    say(`${only?.says}\n${only?.mend}`);
  }

  await steps.check('doctor finds nothing wrong with a fresh deployment', async () => {
    // The stack's own value, which the journey has shortened.
    await setVisibility('600');
    const checks = await examined();
    for (const { name, result, says } of checks) if (result !== 'ok') say(`${result} ${name}: ${says}`);
    assert.deepEqual(
      checks.flatMap(({ name, result }) => (['ok', 'skipped'].includes(result) ? [] : [`${name} ${result}`])),
      expected,
    );
    assert.ok(checks.length > 20);
  });

  await steps.check('doctor names a schedule that is switched off', async () => {
    const Name = outputs.drainScheduleName;
    const { ScheduleExpression, FlexibleTimeWindow, Target } = await scheduler.send(
      new GetScheduleCommand({ Name }),
    );
    const setState = (State: 'ENABLED' | 'DISABLED') =>
      scheduler.send(
        new UpdateScheduleCommand({ Name, ScheduleExpression, FlexibleTimeWindow, Target, State }),
      );
    await setState('DISABLED');
    await expectOnly('schedules', /aws scheduler update-schedule --name .* --state ENABLED/);
    await setState('ENABLED');
    assert.deepEqual(await found(), []);
  });

  await steps.check('doctor names an event source mapping that is switched off', async () => {
    const asked = new ListEventSourceMappingsCommand({ FunctionName: outputs.fanOutFunctionName });
    const { EventSourceMappings: [{ UUID = '' } = {}] = [] } = await cloud.lambda.send(asked);
    await cloud.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: false }));
    await expectOnly(
      'event-source-mapping',
      new RegExp(`aws lambda update-event-source-mapping --uuid ${UUID} --enabled`),
    );
    await cloud.lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: true }));
    assert.deepEqual(await found(), []);
  });

  await steps.check(
    'doctor names an application secret that was emptied, and its command mends it',
    async () => {
      const SecretId = secretNames.application;
      await cloud.secrets.send(new PutSecretValueCommand({ SecretId, SecretString: '{}' }));
      await expectOnly(
        'application-credentials',
        /advert-bridge application --client-id ID --client-secret-stdin/,
      );
      const { clientId, clientSecret } = sandbox.application;
      await advertBridge.run(['application', '--client-id', clientId, '--client-secret-stdin'], clientSecret);
      assert.deepEqual(await found(), []);
      const { SecretString } = await cloud.secrets.send(new GetSecretValueCommand({ SecretId }));
      assert.deepEqual(JSON.parse(SecretString ?? ''), { clientId, clientSecret });
    },
  );

  scheduler.destroy();
  await setVisibility(Attributes?.VisibilityTimeout ?? '');
}
