import { Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { outputs, stackName } from '../../shared/contract/names.ts';
import { synthesized } from '../helpers/synthesized.ts';

const bridge = synthesized();

describe('the stack', () => {
  it('has exactly the outputs that others rely on', () => {
    const { Outputs } = bridge.template.toJSON();
    expect(bridge.stack.stackName).toBe(stackName);
    expect(Object.keys(Outputs).sort()).toEqual(Object.values(outputs).sort());
    expect(Outputs.EventBusName.Value).toEqual({ Ref: bridge.one('AWS::Events::EventBus').id });
    expect(Outputs.Version.Value).toBe(packageJson.version);
    for (const name of ['Drain', 'RefreshToken']) {
      const { id } = bridge.one('AWS::Scheduler::Schedule', name);
      expect(Outputs[`${name}ScheduleName`].Value).toEqual({ Ref: id });
    }
  });

  it('is protected from being taken away by mistake, on AWS', () => {
    expect(bridge.stack.terminationProtection).toBe(true);
    expect(synthesized({ target: 'emulator' }).stack.terminationProtection).toBe(false);
  });

  it('names only what the contract names', () => {
    const named = Object.values(bridge.resources).flatMap(({ Properties }) =>
      [
        'BucketName',
        'FunctionName',
        'LogGroupName',
        'Name',
        'QueueName',
        'RoleName',
        'TableName',
        'TopicName',
      ]
        .map((key) => Properties?.[key])
        .filter((name) => typeof name === 'string'),
    );
    const queries = bridge.ofType('AWS::Logs::QueryDefinition').map(([, { Properties }]) => Properties.Name);
    expect(queries).toEqual(queries.filter((name) => name.startsWith(`${stackName}/`)));
    expect(named.filter((name) => !queries.includes(name)).sort()).toEqual([
      'advert-bridge/application',
      'adverts',
    ]);
  });

  it.each([
    ['as it is by default', {}],
    [
      'with everything',
      {
        alarmEmail: 'team@example.com',
        alarmTopicArn: 'arn:aws:sns:eu-central-1:111111111111:pager',
        dashboard: 'true',
        subscriberAccounts: '111111111111',
        organizationId: 'o-a1b2c3d4e5',
      },
    ],
  ])('passes the checks of cdk-nag %s', (_what, settings) => {
    const { app } = synthesized(settings);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    vi.stubEnv('JSII_DEPRECATED', 'quiet');

    // The template was made before the checks were added.
    expect(app.synth({ force: true }).stacks).toHaveLength(1);
  });
});
