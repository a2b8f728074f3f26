import { needsPerson } from '../account-status.ts';
import type { Status } from '../bridge.ts';
import type { AddCommand } from '../cli.ts';
import { type ExitCode, exitCodes, give, type Io, say } from '../io.ts';
import { withBridge } from '../open-bridge.ts';
import { statusText } from '../status-text.ts';
import { type TargetOptions, targetOf, withJson, withTarget } from '../target.ts';
import { unknownAccount } from '../unknown-account.ts';

const help = `
Exit code 3 says that something is left for a person: a stopped partner account, a feed that
cannot be read until somebody acts, dead letters.

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
  const status = await withBridge(target, async (bridge) => only(await bridge.status(), name));
  if (options.json) give(io, status);
  else say(io, statusText(status, target, Date.now()));
  return needsPerson(status) ? exitCodes.needsPerson : exitCodes.done;
}

function only(status: Status, name: string | undefined): Status {
  if (name === undefined) return status;
  const partnerAccounts = status.partnerAccounts.filter((account) => account.name === name);
  if (partnerAccounts.length > 0) return { ...status, partnerAccounts };
  throw unknownAccount(status.partnerAccounts.map((account) => account.name));
}
