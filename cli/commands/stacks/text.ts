import type { BridgeList } from '../../../operations/stack-outputs.ts';
import { textOfPlace } from '../../../operations/stack-place.ts';

export const more = `A line for each bridge begins with what --stack takes: the name of its stack, or STACK/BRIDGE where a stack has several. Needs
cloudformation:DescribeStacks on all stacks.

Examples:
  advert-bridge stacks
  AWS_REGION=eu-west-1 advert-bridge stacks --json`;

export function stackLines({ region, bridges }: BridgeList): string[] {
  if (bridges.length === 0) {
    return [
      `No bridge is deployed in region ${region} of this AWS account. AWS_REGION chooses another region, AWS_PROFILE another account.`,
    ];
  }
  return bridges.map((bridge) => {
    const { version, partnerBaseUrl, status } = bridge;
    const service = partnerBaseUrl === null ? '' : ` from ${partnerBaseUrl}`;
    return `${textOfPlace(bridge)}: version ${version}, ${status},${service} in ${region}`;
  });
}
