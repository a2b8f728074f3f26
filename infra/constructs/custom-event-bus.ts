import { Annotations, CfnResource, Stack } from 'aws-cdk-lib';
import { type IRole, PolicyDocument, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { archivedFor, publishOnlyBy, subscribersOf } from './event-bus.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { isKnown } from './props/resources.ts';

/** From cfn-lint 1.58, of November 2026. CloudFormation refuses a template with types that its region does not have. */
export const regionsWithCustomBus = [
  ...['ap-east-1', 'ap-northeast-1', 'ap-south-1', 'ap-southeast-1', 'ap-southeast-2', 'ap-southeast-5'],
  ...['ap-southeast-7', 'eu-central-1', 'eu-north-1', 'eu-south-2', 'eu-west-1', 'eusc-de-east-1'],
  ...['us-east-1', 'us-east-2', 'us-west-2'],
];

/** A part of the ARN, for conditions: the bus does not exist yet when they are written. */
const arnPattern = (scope: Construct, name: string): string => {
  const { partition, region, account } = Stack.of(scope);
  return `arn:${partition}:events:${region}:${account}:event-busv2/${name}/*`;
};

/**
 * The Custom Event Bus, which keeps the order of an advert's events. The CDK has constructs for it only from 2.272 on,
 * and the package accepts older ones.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus.html
 */
export class CustomEventBus extends Construct {
  readonly arn: string;
  readonly #settings: BridgeConfig;

  constructor(scope: Construct, id: string, settings: BridgeConfig) {
    super(scope, id);
    const { encryptionKey, busName } = settings;
    const bus = new CfnResource(this, 'Bus', {
      type: 'AWS::EventsV2::EventBus',
      properties: {
        Name: busName,
        Description: 'Status changes of adverts at the partner service',
        StorageConfiguration: { RetentionPeriodInDays: archivedFor.toDays() },
        ...(encryptionKey && { EncryptionConfiguration: { KmsKeyIdentifier: encryptionKey.keyArn } }),
      },
    });
    this.arn = bus.getAtt('EventBusArn').toString();
    this.#settings = settings;
    if (encryptionKey) this.#allowKey(encryptionKey);
    const { region: own } = Stack.of(this);
    // A stack that is not made for a region is deployed to the one that the CDK command line found.
    const region = isKnown(own) ? own : process.env.CDK_DEFAULT_REGION;
    if (region !== undefined && !regionsWithCustomBus.includes(region))
      Annotations.of(this).addWarningV2(
        'advert-bridge:custom-bus-region',
        `In November 2026, ${region} had no Custom Event Bus: CloudFormation refuses the stack there, before it changes anything. Then choose eventBuses: ['classic'].`,
      );
  }

  /**
   * Its only policy: nobody but the bridge publishes, and the listed accounts, or those of the organization, may make
   * subscribers. An event that was put there raw would look like the bridge's.
   *
   * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-access-actions.html
   */
  guard(publishers: readonly IRole[]): void {
    const statements = [
      publishOnlyBy(publishers, {
        actions: ['events:PutEvents', 'events:PutRawEvents'],
        resources: [this.arn],
      }),
      ...subscribersOf(this.#settings).map(
        ({ who, principals, conditions }) =>
          new PolicyStatement({
            sid: `${who}Subscribe`,
            principals,
            conditions,
            resources: [this.arn],
            // A filter that is updated is checked here again.
            actions: ['events:CreateSubscriber', 'events:UpdateSubscriber', 'events:DescribeEventBus'],
          }),
      ),
    ];
    new CfnResource(this, 'Policy', {
      type: 'AWS::EventsV2::ResourcePolicy',
      properties: { EventBusArn: this.arn, PolicyDocument: new PolicyDocument({ statements }) },
    });
  }

  /**
   * The service uses the key in its own name, and checks it in the name of everybody who makes a subscriber. The bridge's
   * roles are allowed by their own policies.
   *
   * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-encryption.html
   */
  #allowKey(key: IKey): void {
    const { account, region } = Stack.of(this);
    const ofBus = {
      'kms:EncryptionContext:aws:events:event-busv2:arn': arnPattern(this, this.#settings.busName),
    };
    const service = new PolicyStatement({
      principals: [new ServicePrincipal('events.amazonaws.com')],
      actions: ['Decrypt', 'Encrypt', 'GenerateDataKeyWithoutPlaintext', 'ReEncryptFrom', 'ReEncryptTo'].map(
        (action) => `kms:${action}`,
      ),
      resources: ['*'], // In the policy of a key: this key.
      conditions: { StringEquals: { 'aws:SourceAccount': account }, StringLike: ofBus },
    });
    const { statementAdded } = key.addToResourcePolicy(service);
    for (const { principals, conditions } of subscribersOf(this.#settings)) {
      const via = { ...conditions.StringEquals, 'kms:ViaService': `events.${region}.amazonaws.com` };
      key.addToResourcePolicy(
        new PolicyStatement({
          principals,
          actions: ['kms:Decrypt'],
          resources: ['*'],
          conditions: { StringEquals: via, StringLike: ofBus },
        }),
      );
    }
    if (!statementAdded)
      Annotations.of(this).addWarningV2(
        'advert-bridge:custom-bus-key',
        `This stack cannot change the policy of the encryptionKey, which is imported: allow events.amazonaws.com ${service.actions.join(', ')} in it, and whoever makes subscribers kms:Decrypt; otherwise the Custom Event Bus cannot be created.`,
      );
  }
}
