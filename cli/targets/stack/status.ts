import { readStackState } from '../../../operations/stack-state.ts';
import type { StatusPorts } from '../../../operations/status.ts';
import { createBookKeeper } from '../../../shared/aws/books.ts';
import type { StackBridge } from './bridge.ts';

export function stackStatusPorts(bridge: StackBridge): StatusPorts {
  const { state, feedStateTable: table, queue, deadLetterQueue, outputs, clients, name } = bridge;
  const places = { bridge: name, outputs, lambda: clients.lambda };
  return {
    ...state,
    bookKeeper: createBookKeeper({ table, aside: state.aside, queue, deadLetterQueue }),
    stack: { version: outputs.version, read: (nowMs) => readStackState(places, nowMs) },
  };
}
