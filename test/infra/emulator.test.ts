import { describe, expect, it } from 'vitest';
import { isUnknownToEmulator, unknownToEmulator } from '../../infra/emulator.ts';
import { synthesized } from '../helpers/synthesized.ts';

const settings = { subscriberAccounts: '111111111111', alarmEmail: 'team@example.com' };
const aws = synthesized(settings);
const emulator = synthesized({ ...settings, target: 'emulator' });

/** What CloudFormation of MiniStack 1.5.33 was found to refuse, when each was tried. */
const refused = `Events::Archive, EventBusPolicy, Connection, ApiDestination, Endpoint; EventSchemas::*;
  SecretsManager::RotationSchedule, ResourcePolicy; CloudWatch::CompositeAlarm, AnomalyDetector, InsightRule;
  Logs::QueryDefinition; SQS::QueueInlinePolicy; SNS::TopicInlinePolicy; ApplicationAutoScaling::*;
  IAM::RolePolicy; Lambda::CodeSigningConfig; EventsV2::*`
  .split(/;\s+/)
  .flatMap((service) => {
    const [name, ...types] = service.split(/::|,\s+/);
    return types.map((type) => `AWS::${name}::${type}`);
  });

describe('the stack for the emulator', () => {
  it('knows every type that the emulator refuses', () => {
    expect([...unknownToEmulator].sort()).toEqual(refused.sort());
  });

  it('has none of them', () => {
    const types = Object.values(emulator.resources).map(({ Type }) => Type);
    expect(types.filter(isUnknownToEmulator)).toEqual([]);
  });

  it('is otherwise the one for AWS, to the letter', () => {
    const known = Object.entries(aws.resources).filter(([, { Type }]) => !isUnknownToEmulator(Type));

    expect(known.length).toBeLessThan(Object.keys(aws.resources).length);
    expect(emulator.resources).toEqual(Object.fromEntries(known));
    expect(emulator.template.toJSON().Outputs).toEqual(aws.template.toJSON().Outputs);
  });
});
