import { describe, expect, it } from 'vitest';
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
    expect(named.sort()).toEqual(['advert-bridge/application', 'adverts']);
  });

  // That each grant is needed, and all of them together suffice, is shown by the calls (iam/grants-used.test.ts).
  it('grants nothing by a wildcard action, a policy of AWS or a policy within a role', () => {
    const statements = bridge
      .ofType('AWS::IAM::Policy')
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement);
    const actions = statements.flatMap(({ Action }) => Action as string | string[]);
    expect(actions.length).toBeGreaterThan(40);
    expect(actions.filter((action) => action.includes('*'))).toEqual([]);
    for (const [, { Properties }] of bridge.ofType('AWS::IAM::Role')) {
      expect([Properties.ManagedPolicyArns, Properties.Policies]).toEqual([undefined, undefined]);
    }
    expect(bridge.ofType('AWS::IAM::ManagedPolicy')).toEqual([]);
  });

  it('gives tokens to functions that need them and to people who catch up, by the path of their roles', () => {
    const readers = bridge
      .ofType('AWS::IAM::Role')
      .filter(([, { Properties }]) => Properties.Path === '/advert-bridge/token-readers/');
    expect(readers.map(([id]) => id.slice(0, -8)).sort()).toEqual([
      ...['CatchUpRole', 'DrainRole', 'FanOutRole', 'RefreshTokenRole'],
    ]);
  });
});
