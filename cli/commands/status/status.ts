import type { Status } from '../../../operations/status.ts';
import { needsPerson } from '../../../operations/status.ts';
import { unknownAccount } from '../../../operations/unknown-account.ts';
import type { Bridge } from '../../shared/bridge.ts';
import type { AddCommand } from '../../shared/command.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../../shared/io.ts';
import { type TargetOptions, targetOf, withJson, withTarget } from '../../shared/target.ts';
import { withBridge } from '../../targets/open-bridge.ts';
import { statusText } from './text.ts';

const help = `
Exit code 3 says that something is left for a person: a stopped partner account, a feed that cannot be read until somebody
acts, a refresh token about to die, dead letters. Of more than 20 partner accounts it tells a summary, first those that
need a person; --json has them all.

Examples:
  advert-bridge status --local .advert-bridge
  advert-bridge status main --json   (the deployed stack)`;

export const addStatus: AddCommand = (program, io, end) =>
  withJson(withTarget(program.command('status')))
    .summary('show how the bridge is')
    .description(
      'Shows lag, last success, token expiry, stops, books and dead letters. For people on standard error.',
    )
    .argument('[NAME]', 'only this partner account')
    .addHelpText('after', help)
    .action(async (name: string | undefined, options: StatusOptions) =>
      end(await showStatus(io, name, options)),
    );

interface StatusOptions extends TargetOptions {
  readonly json?: boolean;
}

async function showStatus(io: Io, name: string | undefined, options: StatusOptions): Promise<ExitCode> {
  const target = targetOf(options);
  const status = await withBridge(target, (bridge) => statusOf(bridge, name));
  if (options.json) give(io, status);
  else say(io, statusText(status, target, Date.now()));
  return needsPerson(status) ? exitCodes.needsPerson : exitCodes.done;
}

async function statusOf(bridge: Bridge, name: string | undefined): Promise<Status> {
  const status = await bridge.status(name);
  if (name === undefined || status.partnerAccounts.length > 0) return status;
  throw unknownAccount(await bridge.names());
}
