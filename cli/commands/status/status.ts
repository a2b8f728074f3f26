import { needsPerson, readStatus } from '../../../operations/status.ts';
import { unknownAccount } from '../../../operations/unknown-account.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { optionalText } from '../../shared/options.ts';
import { statusPorts } from '../../targets/needs.ts';
import { withBridge } from '../../targets/open.ts';
import { more, statusText } from './text.ts';

export const addStatus = defineCommand(
  {
    name: 'status',
    summary: 'show how the bridge is doing',
    description: 'Shows lag, last success, token expiry, stops, books and dead letters.',
    more,
    argument: { syntax: '[NAME]', help: 'only this partner account', schema: optionalText },
  },
  async ({ target, argument: name, answer }) => {
    const status = await withBridge(target, statusPorts, async (ports) => {
      const found = await readStatus(ports, Date.now(), name);
      if (name === undefined || found.partnerAccounts.length > 0) return found;
      throw unknownAccount(await ports.partnerAccounts.list());
    });
    answer(status, statusText(status, target, Date.now()));
    return needsPerson(status) ? exitCodes.needsPerson : exitCodes.done;
  },
);
