import { GetFunctionConfigurationCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { HiddenQueue } from '../../operations/history/hidden-queue.ts';
import type { StackOutputs } from '../../operations/stack-outputs.ts';
import { countMessages } from '../../shared/aws/sqs/queue-counts.ts';
import type { Queue } from '../../shared/aws/sqs/send-batches.ts';
import { createLogSearch } from './log-lines.ts';

/** The length of the queue, and what the functions logged. */
export function hiddenQueueOf(outputs: StackOutputs, lambda: LambdaClient, queue: Queue): HiddenQueue {
  const groupOf = async (FunctionName: string) => {
    const found = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    return found.LoggingConfig?.LogGroup ?? `/aws/lambda/${FunctionName}`;
  };
  return {
    length: () => countMessages(queue),
    async readLog({ words, fromMs }) {
      const [drainGroup, fanOutGroup] = await Promise.all([
        groupOf(outputs.drainFunctionName),
        groupOf(outputs.fanOutFunctionName),
      ]);
      const logs = createLogSearch();
      const lines = await logs.search([drainGroup, fanOutGroup], words, fromMs).finally(logs.close);
      return lines.map(({ atMs, group, text }) => ({
        ...{ atMs, text },
        from: group === drainGroup ? ('drain' as const) : ('fan-out' as const),
      }));
    },
  };
}
