import { Peer, Port, SecurityGroup } from 'aws-cdk-lib/aws-ec2';
import { Effect } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Grantee } from './grantee.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

const httpsPort = 443;

export function withSecurityGroup(scope: Construct, config: BridgeConfig): BridgeConfig {
  const { vpc, securityGroups, partnerBaseUrl } = config;
  if (!vpc || securityGroups) return config;
  const group = new SecurityGroup(scope, 'SecurityGroup', {
    vpc,
    description: `Functions of the advert bridge ${config.name}`,
    allowAllOutbound: false,
  });
  const ports = new Set([httpsPort, Number(new URL(partnerBaseUrl).port || httpsPort)]);
  for (const port of ports)
    group.addEgressRule(Peer.anyIpv4(), Port.tcp(port), 'AWS and the partner service');
  return { ...config, securityGroups: [group] };
}

/**
 * Allows Lambda to create the network interfaces of a function in a VPC with the function's role, and denies that to
 * the function's code.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
 */
export function grantNetwork(user: Grantee): void {
  const grant = {
    actions: [
      'CreateNetworkInterface',
      'DescribeNetworkInterfaces',
      'DescribeSubnets',
      'DeleteNetworkInterface',
      'AssignPrivateIpAddresses',
      'UnassignPrivateIpAddresses',
    ].map((action) => `ec2:${action}`),
    resources: ['*'],
  };
  user
    .addStatement('Network', grant)
    .acknowledgeWildcard(
      '*',
      "Lambda makes and removes the function's network interfaces, which have no names before.",
    );
  user.addStatement('NetworkNotByCode', {
    ...grant,
    effect: Effect.DENY,
    // Only calls from the code of a function have this condition key.
    conditions: { Null: { 'lambda:SourceFunctionArn': 'false' } },
  });
}
