import { stackName } from '../../../shared/contract/names.ts';
import { defineCommand } from '../../shared/command.ts';
import { explained } from '../../shared/explain.ts';
import { exitCodes } from '../../shared/io.ts';
import { more, stackLines } from './text.ts';

export const addStacks = defineCommand(
  {
    name: 'stacks',
    summary: 'list the bridges that are deployed',
    description: 'Lists every bridge that is deployed in the AWS account and region of your environment.',
    more,
    where: 'none',
  },
  async ({ answer }) => {
    const { listBridges } = await import('../../../operations/stack-outputs.ts');
    const found = await listBridges().catch((error: unknown) => {
      throw explained(error, { target: { kind: 'stack', stack: stackName } });
    });
    answer(found, ...stackLines(found));
    return exitCodes.done;
  },
);
