import { disconnectAccount } from '../../operations/connect-functions.ts';
import { connectWords, requireKnown } from '../../operations/errors.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { flag, nameArgument } from '../shared/options.ts';
import { confirm, requireTerminal } from '../shared/secret-input.ts';

export const addDisconnect = defineCommand(
  {
    help: `stop polling for a partner account
Removes its credentials. Cursor and history stay, so that connecting again continues from there; with --forget
they are removed too, once the work on them has ended.

Example:
  $0 disconnect main --forget --yes   (the deployed stack)`,
    options: {
      name: nameArgument,
      forget: flag('remove cursor, history and dead letters as well (asks first)'),
      yes: flag('do not ask'),
    },
  },
  async ({ io, target, options: { name, forget, yes }, report, command }) => {
    const asks = forget && !yes;
    if (asks) requireTerminal(io, '--forget');
    await withBridge(target, async (bridge) => {
      await requireKnown(bridge.partnerAccounts, name);
      if (asks)
        await confirm(io, `Forget ${name}? Its cursor, history and dead letters are removed permanently.`);
      await disconnectAccount(bridge, name, { forget });
    });
    const forgot = `Disconnected ${name}, and forgot its cursor, history and dead letters. Its books and its published events stay.`;
    const kept = [
      `Disconnected ${name}: its credentials are removed, its cursor and history are kept.`,
      `To connect it again: ${command(connectWords(name))}`,
    ];
    const data = { partnerAccount: name, disconnected: true, forgotten: forget };
    return report(data, ...(forget ? [forgot] : kept));
  },
);
