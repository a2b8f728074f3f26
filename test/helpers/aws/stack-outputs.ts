import type { Stack } from '@aws-sdk/client-cloudformation';
import { outputs, stackName } from '../../../shared/contract/names.ts';

/**
 * A deployed stack as CloudFormation describes it, with every output there is but the Custom Event Bus, unless given.
 *
 * @param values by output name; an output that is not among them has its own name as its value, the bridge its own
 */
export function describedStack(values: Readonly<Record<string, string>> = {}): Stack {
  return {
    StackName: 'AdvertBridge',
    StackStatus: 'CREATE_COMPLETE',
    CreationTime: new Date(),
    Outputs: Object.values(outputs)
      .filter((key) => key !== outputs.customEventBusArn || key in values)
      .map((key) => ({
        OutputKey: key,
        OutputValue: values[key] ?? (key === outputs.bridgeName ? stackName : key),
      })),
  };
}
