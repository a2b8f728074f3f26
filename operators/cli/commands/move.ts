import { bridgeNameIn } from '../../../embedded/partner.ts';
import { linesReader, shownUrl } from '../../../embedded/state/event-log.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { systemClock, toInstant } from '../../../shared/domain/clock.ts';
import { failed } from '../../operations/errors.ts';
import { type Folder, move } from '../../operations/move/move.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { defineCommand } from '../shared/command.ts';
import { flag } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { are, count, factTable } from '../shared/wording.ts';

export const addMove = defineCommand(
  {
    help: `move the accounts of a folder to a deployed stack
With tokens, cursors, histories, waiting messages, dead letters, pauses and books: the stack goes on where the
folder was, and the folder refuses to run. Stop its run before. If the command is interrupted, run it again: it
goes on. The partner service is not asked. docs/operate/move.md

Examples:
  $0 move --local .advert-bridge --stack AdvertBridge --dry-run`,
    where: 'both',
    options: { dryRun: flag('check everything, and show what would be moved') },
  },
  async ({ io, target: { local, stack: to }, options: { dryRun }, report }) => {
    const opening = { isMoving: true, isReadOnly: dryRun };
    const moved = await withProgress(io, (show) =>
      withBridge(
        local,
        (bridge) =>
          withBridge(to, async (stack) => {
            requireSameVersion(stack.host.version, to.stack);
            // Here, because `--help` answers on a Node that has no node:sqlite, too.
            const { newRunId, takeRunLock } = await import('../../../embedded/state/file/run-lock.ts');
            const folder = await folderOf(bridge, newRunId);
            const onProgress = (name: string, rows: number, total: number) =>
              show(`${name}: ${count(rows)} of ${count(total)} rows`);
            const run = `pid ${process.pid} since ${toInstant(systemClock.now())} (${local.command('move')})`;
            const lock = dryRun ? undefined : takeRunLock(local.dir, run);
            try {
              // What a killed call has locked is freed.
              if (!dryRun) await bridge.state.beginRun();
              return await move(folder, stack, { place: to.stack, dryRun, onProgress });
            } finally {
              lock?.release();
            }
          }),
        opening,
      ),
    );
    const lines = factTable(moved.map(({ partnerAccount: account, ...facts }) => ({ account, ...facts })));
    const data = { stack: to.stack, dryRun, partnerAccounts: moved };
    if (dryRun) return report(data, ...lines, 'Nothing was changed.');
    return report(
      data,
      ...lines,
      `Moved ${are(moved.length, 'partner account', 'partner accounts')} to stack ${to.stack}: \`${to.command('status')}\``,
      `Nothing runs ${local.dir} any more. Delete it: it still contains the client secret.`,
    );
  },
);

/** The functions and this command share the form of rows, and an action of the connect function. */
function requireSameVersion(deployed: string, stack: string): void {
  const { version } = packageJson;
  if (deployed === version) return;
  throw failed('other-version', { stack, deployed, version });
}

const folderOf = async (bridge: FolderBridge, newId: () => string): Promise<Folder> => ({
  ...bridge.state,
  clock: bridge.clock,
  newId,
  baseUrl: bridge.requireBaseUrl(),
  bridgeName: await bridgeNameIn(bridge.state),
  undelivered() {
    const { webhooks, outputEvents } = bridge.state;
    const readers = webhooks.list().map(({ url, waiting }) => ({ reader: shownUrl(url), waiting }));
    return [...readers, { reader: linesReader, waiting: outputEvents()?.waiting ?? 0 }]
      .filter(({ waiting }) => waiting > 0)
      .map(({ reader, waiting }) => `${count(waiting)} for ${reader}`);
  },
});
