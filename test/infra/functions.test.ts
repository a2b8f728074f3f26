// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stages } from '../../scripts/bundle-handlers.ts';
import {
  type FunctionName,
  functionResources,
  resourceKeys,
  settingsKey,
} from '../../shared/contract/environment.ts';
import { refreshLimits } from '../../shared/runtime/limits.ts';
import { functions, inShort, repository, synthesized } from '../helpers/synthesized.ts';

const { one, ofType } = synthesized({ auditSample: '299' });
const names = Object.keys(functions) as FunctionName[];

describe.each(names)('the %s function', (name) => {
  const { Properties } = one('AWS::Lambda::Function', functions[name]);

  it('finds exactly what its contract lists in its environment', () => {
    const variables = Properties.Environment.Variables;
    const wanted = (Object.keys(functionResources[name].entries) as (keyof typeof resourceKeys)[])
      // Only where the bridge has a KMS key: advert-bridge.test.ts.
      .filter((key) => key !== 'partnerSecretKey');

    expect(Object.keys(variables).sort()).toEqual(
      [settingsKey, ...wanted.map((key) => resourceKeys[key])].sort(),
    );
  });

  it('runs on Node 24 and arm64, and logs JSON', () => {
    expect(Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO' },
    });
    const [, logGroup] =
      ofType('AWS::Logs::LogGroup').find(([group]) => group === Properties.LoggingConfig.LogGroup.Ref) ?? [];
    expect(logGroup?.Properties.RetentionInDays).toBe(30);
    // A trace costs five times what its event does (docs/decisions/0006-own-code.md).
    expect(Properties.TracingConfig).toBeUndefined();
  });

  it('reserves no concurrency: the lease keeps drains apart', () => {
    expect(Properties.ReservedConcurrentExecutions).toBeUndefined();
  });
});

it.each(['refreshToken', 'connect'] as const)(
  '%s ends before the lock that it writes tokens under',
  (name) => {
    const { Timeout } = one('AWS::Lambda::Function', functions[name]).Properties;
    expect(Timeout * 1000).toBeLessThan(refreshLimits.lockMs);
  },
);

it('there are four functions, each with a handler that exists', () => {
  expect(ofType('AWS::Lambda::Function')).toHaveLength(stages.length);
  for (const stage of stages) {
    expect(existsSync(join(repository, 'functions', stage, 'handler.ts'))).toBe(true);
  }
});

describe('the mapping of the queue to the fan-out', () => {
  const mapping = one('AWS::Lambda::EventSourceMapping').Properties;

  it('takes ten at a time, reports each that failed, and is bounded', () => {
    expect(inShort(mapping)).toEqual({
      EventSourceArn: '${ChangedAdvertsQueue.Arn}',
      FunctionName: '${FanOutFunction}',
      BatchSize: 10,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 2 },
    });
  });

  it.each([
    ['0.1', 2],
    ['300', 30],
    ['100000', 100],
  ])('at %s requests a second has up to %i batches at once', (maxRequestsPerSecond, most) => {
    const { ScalingConfig } = synthesized({ maxRequestsPerSecond }).one(
      'AWS::Lambda::EventSourceMapping',
    ).Properties;
    expect(ScalingConfig.MaximumConcurrency).toBe(most);
  });
});

describe.each([
  ['drain', 'Drain', 'rate(1 minute)'],
  ['refreshToken', 'RefreshToken', 'rate(15 minutes)'],
] as const)('the schedule of %s', (name, id, rate) => {
  const { Properties } = one('AWS::Scheduler::Schedule', id);
  const target = one('AWS::Lambda::Function', functions[name]);

  it('invokes it with {} and by a role of its own', () => {
    expect(Properties).toMatchObject({ ScheduleExpression: rate, FlexibleTimeWindow: { Mode: 'OFF' } });
    expect(Properties.Target.Input).toBe('{}');
    expect(Properties.Target.Arn).toEqual({ 'Fn::GetAtt': [target.id, 'Arn'] });
    expect(inShort(Properties.Target.RoleArn)).toBe(`\${${id}ScheduleRole.Arn}`);
  });

  it('retries nothing and forgets what is older than a minute, on both ways to the function', () => {
    expect(Properties.Target.RetryPolicy).toEqual({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(one('AWS::Lambda::EventInvokeConfig', functions[name]).Properties).toMatchObject({
      FunctionName: { Ref: target.id },
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
  });
});
