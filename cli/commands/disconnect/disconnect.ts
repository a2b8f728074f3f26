import { accountsBeside, requireKnown, unknownAccount } from '../../../operations/unknown-account.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { confirm, requireTerminal } from '../../shared/confirm.ts';
import { exitCodes } from '../../shared/io.ts';
import { flag, nameArgument } from '../../shared/options.ts';
import { disconnectedLines, forgetQuestion, more } from './text.ts';

export const addDisconnect = defineCommand(
  {
    name: 'disconnect',
    summary: 'stop polling for a partner account',
    description:
      'Stops polling and removes the credentials. The cursor and the history stay, so that connecting again continues ' +
      'from there; with --forget they are removed too, after a few seconds in which running work on them ends.',
    more,
    args: { name: nameArgument },
    options: {
      forget: flag('remove cursor, history and books as well (asks first)'),
      yes: flag('do not ask'),
    },
  },
  async ({ io, target, args: { name }, options: { forget, yes }, report }) => {
    const asks = forget && !yes;
    if (asks) requireTerminal(io, '--forget');
    await withBridge(target, async ({ partnerAccounts: accounts, functions }) => {
      await requireKnown(accounts, name);
      if (asks) await confirm(io, forgetQuestion(name));
      if (!(await functions.disconnect(name, { forget })))
        throw unknownAccount(await accountsBeside(accounts, name));
    });
    report(
      { partnerAccount: name, disconnected: true, forgotten: forget },
      ...disconnectedLines(target, name, forget),
    );
    return exitCodes.done;
  },
);
