import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import type { HistoryPorts } from '../../../operations/history/read-history.ts';
import { countMessages } from '../../../shared/aws/sqs/queue-counts.ts';
import { functionConfig } from '../../../shared/runtime/config.ts';
import { waitingAside } from '../../../shared/state/aside.ts';
import type { StackBridge } from './bridge.ts';
import { createLogSearch } from './log-lines.ts';
import { stackLetters } from './stored-letters.ts';

/**
 * What a stack knows about an advert. The configuration of its functions says which events it publishes and where it
 * logs.
 */
export async function stackHistory(bridge: StackBridge): Promise<HistoryPorts> {
  const { clients, outputs, state, queue, onClose } = bridge;
  const configurationOf = (FunctionName: string) =>
    clients.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
  const [drain, fanOut] = await Promise.all([
    configurationOf(outputs.drainFunctionName),
    configurationOf(outputs.fanOutFunctionName),
  ]);
  const drainGroup = drain.LoggingConfig?.LogGroup ?? `/aws/lambda/${outputs.drainFunctionName}`;
  const fanOutGroup = fanOut.LoggingConfig?.LogGroup ?? `/aws/lambda/${outputs.fanOutFunctionName}`;
  const logs = createLogSearch();
  onClose(logs.close);
  return {
    ...state,
    waitingMessages: waitingAside(state.aside),
    letters: stackLetters(bridge).letters,
    publishedEvents: async () => functionConfig('fanOut', fanOut.Environment?.Variables ?? {}),
    hiddenQueue: {
      length: () => countMessages(queue),
      async readLog({ words, fromMs }) {
        const lines = await logs.search([drainGroup, fanOutGroup], words, fromMs);
        return lines.map(({ atMs, group, text }) => ({
          ...{ atMs, text },
          from: group === drainGroup ? ('drain' as const) : ('fan-out' as const),
        }));
      },
    },
  };
}
