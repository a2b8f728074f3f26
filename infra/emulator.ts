import { CfnResource } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * CloudFormation types that MiniStack does not know: it refuses a template with any of them before it makes anything.
 * `*` stands for every type of a service. Found with MiniStack 1.5.33 (test/deploy uses it); look again when that
 * changes.
 */
export const unknownToEmulator = [
  'AWS::ApplicationAutoScaling::*',
  'AWS::CloudWatch::AnomalyDetector',
  'AWS::CloudWatch::CompositeAlarm',
  'AWS::CloudWatch::InsightRule',
  'AWS::EventSchemas::*',
  'AWS::Events::ApiDestination',
  'AWS::Events::Archive',
  'AWS::Events::Connection',
  'AWS::Events::Endpoint',
  'AWS::Events::EventBusPolicy',
  'AWS::EventsV2::*',
  'AWS::IAM::RolePolicy',
  'AWS::Lambda::CodeSigningConfig',
  'AWS::Logs::QueryDefinition',
  'AWS::SNS::TopicInlinePolicy',
  'AWS::SQS::QueueInlinePolicy',
  'AWS::SecretsManager::ResourcePolicy',
  'AWS::SecretsManager::RotationSchedule',
] as const;

/** Whether the emulator refuses resources of this CloudFormation type. */
export const isUnknownToEmulator = (type: string): boolean =>
  unknownToEmulator.some((known) =>
    known.endsWith('*') ? type.startsWith(known.slice(0, -1)) : type === known,
  );

/** Takes out of `scope` what the emulator would refuse. Nothing else may depend on what goes. */
export function leaveOutUnknown(scope: IConstruct): void {
  for (const construct of scope.node.findAll()) {
    if (CfnResource.isCfnResource(construct) && isUnknownToEmulator(construct.cfnResourceType)) {
      construct.node.scope?.node.tryRemoveChild(construct.node.id);
    }
  }
}
