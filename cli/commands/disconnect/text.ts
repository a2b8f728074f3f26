import { connectCommand } from '../../shared/explain.ts';
import type { Target } from '../../shared/target.ts';

export const more = `Examples:
  advert-bridge disconnect main --local .advert-bridge
  advert-bridge disconnect main --forget --yes   (the deployed stack)`;

export const forgetQuestion = (name: string): string =>
  `Forget ${name}? Its cursor, history and books are removed permanently. If it is connected again, it starts with a new history.`;

export function disconnectedLines(target: Target, name: string, forgotten: boolean): string[] {
  if (forgotten) return [`Disconnected ${name}, and forgot its cursor, history and books.`];
  return [
    `Disconnected ${name}: its credentials are removed, its cursor and history are kept.`,
    `To connect it again: \`${connectCommand(target, name)}\``,
  ];
}
