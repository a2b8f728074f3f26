import { UsageError } from '../../../operations/errors.ts';
import { unknownAccount } from '../../../operations/unknown-account.ts';
import { partnerAccountName } from '../../../shared/contract/checks.ts';
import type { Bridge } from '../../shared/bridge.ts';
import { checkedOptions } from '../../shared/check-options.ts';
import type { AddCommand } from '../../shared/command.ts';
import { confirm } from '../../shared/confirm.ts';
import { exitCodes, give, type Io, say } from '../../shared/io.ts';
import { commandFor, type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { withBridge } from '../../targets/open-bridge.ts';

const help = `
Examples:
  advert-bridge disconnect main --local .advert-bridge
  advert-bridge disconnect main --forget --yes   (the deployed stack)`;

export const addDisconnect: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('disconnect')))
    .summary('stop polling for a partner account')
    .description(
      'Stops polling and removes the credentials. The cursor and the history stay, so that connecting again goes on ' +
        'where it stopped; with --forget they are removed too.',
    )
    .argument('<NAME>', 'the partner account')
    .option('--forget', 'remove cursor, history and books as well (asks first)')
    .option('--yes', 'do not ask')
    .addHelpText('after', help)
    .action(async (name: string, options: DisconnectOptions) => {
      await disconnect(io, name, options);
      end(exitCodes.done);
    });

interface DisconnectOptions extends TargetOptions {
  readonly forget?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

async function disconnect(io: Io, given: string, options: DisconnectOptions): Promise<void> {
  const target = targetOf(options);
  const { forget = false, yes = false } = options;
  const { name } = checkedOptions({ name: partnerAccountName }, { name: given }, { name: 'NAME' });
  if (forget && !yes && !io.stdin.isTTY) {
    throw new UsageError(
      '--forget cannot be undone, and there is no terminal to ask: add --yes if you are sure',
    );
  }
  await withBridge(target, async (bridge) => {
    await refuseUnknown(bridge, name);
    if (forget && !yes) await confirm(io, forgetQuestion(name));
    if (!(await bridge.disconnect(name, { forget }))) throw unknownAccount(await bridge.names());
  });
  if (options.json) give(io, { partnerAccount: name, disconnected: true, forgotten: forget });
  else if (forget) say(io, `Disconnected ${name}, and forgot its cursor, history and books.`);
  else {
    say(io, `Disconnected ${name}: its credentials are removed, its cursor and history are kept.`);
    say(io, `To go on one day: \`${commandFor(target, `connect ${name} --open`)}\``);
  }
}

const forgetQuestion = (name: string): string =>
  `Forget ${name}? Its cursor, history and books are removed for good: connected again, it begins anew.`;

async function refuseUnknown(bridge: Bridge, name: string): Promise<void> {
  const known = await bridge.names();
  if (!known.includes(name)) throw unknownAccount(known);
}
