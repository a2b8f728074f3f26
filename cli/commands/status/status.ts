import { unknownAccount } from '../../../operations/errors.ts';
import { needsPerson, readStatus, type StatusPorts } from '../../../operations/status.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { systemClock } from '../../../shared/domain/clock.ts';
import { withBridge } from '../../bridge/open.ts';
import { defineCommand } from '../../shared/command.ts';
import { exitCodes } from '../../shared/io.ts';
import { flag, optionalName } from '../../shared/options.ts';
import { more, statusText } from './text.ts';
import { watch } from './watch.ts';

export const addStatus = defineCommand(
  {
    name: 'status',
    group: 'watch',
    summary: 'show how the bridge is doing',
    description:
      'Shows lag, last success, token expiry, stops, books, the queue, dead letters, and what AWS runs; and for each problem ' +
      'that needs manual action, a sentence with the command that fixes it.',
    more,
    args: { name: optionalName('only this partner account') },
    options: { watch: flag('again every five seconds, until Ctrl-C') },
  },
  ({ io, target, args: { name }, options, json, answer }) =>
    withBridge(target, (ports) => {
      const clock = systemClock;
      const version = { deployed: ports.stack?.version ?? null, command: packageJson.version };
      const report = async (clear = () => {}) => {
        const status = await statusOf(ports, clock.now(), name);
        clear();
        answer({ ...status, version }, statusText(status, target, clock.now(), version));
        return needsPerson(status) ? exitCodes.needsPerson : exitCodes.done;
      };
      if (!options.watch) return report();
      const redraws = !json && io.stdout.isTTY === true;
      return watch({ io, clock, signal: io.untilStopped(), redraws }, report);
    }),
);

/** @throws {UsageError} for a partner account that is not known */
async function statusOf(ports: StatusPorts, nowMs: number, name: string | undefined) {
  const status = await readStatus(ports, nowMs, name);
  const isThere =
    status.partnerAccounts.length > 0 ||
    status.unreadable.some((flaw) => flaw.startsWith(`partner account ${name}:`));
  if (name === undefined || isThere) return status;
  throw unknownAccount(await ports.partnerAccounts.list(() => undefined));
}
