import type { DatabaseSync } from 'node:sqlite';
import { missingScopes } from '../../../../functions/refresh-token/tokens.ts';
import {
  check,
  type Finding,
  fault,
  ok,
  SkippedError,
  together,
  warning,
} from '../../../../operations/doctor.ts';
import type { Status } from '../../../../operations/status.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { type PartnerAccount, stopOf } from '../../../../shared/domain/partner-account.ts';
import { refuseForeignFolder, stateFileIn } from '../../../../shared/sqlite/file/private-folder.ts';
import { isRunning } from '../../../../shared/sqlite/file/run-lock.ts';
import { StateError } from '../../../../shared/sqlite/file/state-error.ts';
import { openStateFileToRead } from '../../../../shared/sqlite/file/state-file.ts';
import type { EmbeddedState } from '../../../../shared/sqlite/state.ts';
import { baseUrlSetting } from '../../../bridge/folder.ts';
import { readRunSettings } from '../../../bridge/run-settings.ts';
import { applicationCommand, connectCommand } from '../../../shared/explain.ts';
import { commandFor, type LocalTarget } from '../../../shared/target.ts';
import { isThere } from './folder.ts';

/** Cause of attention (operations/account-status.ts): the feed was last read to its end longer ago than the alarm allows. */
const lagging = 'lagging';

export interface ReadState {
  /** @throws {SkippedError} */
  readonly state: () => EmbeddedState;
  /** @throws {SkippedError} */
  readonly status: () => Promise<Status>;
}

export function stateChecks(target: LocalTarget, { state, status }: ReadState) {
  return [
    check('state-file', async () => integrityOf(target)),
    check('run', async () => {
      const late = (await status()).partnerAccounts.find(({ attention }) => attention.includes(lagging));
      if (isRunning(target.dir)) return ok('a run is at work');
      if (!late) return ok('no run is at work, and no feed waits for one');
      const minutes = Math.round((late.lagSeconds ?? 0) / 60);
      return warning(
        `no run is at work, and the feed of ${late.name} has waited for ${minutes} minutes`,
        `\`${commandFor(target, 'run')}\``,
      );
    }),
    check('application', async () => {
      const { settings, applicationSecret } = state();
      const mend = `\`${applicationCommand(target)}\``;
      const baseUrl = await settings.read(baseUrlSetting);
      if (baseUrl === undefined) return fault('the base URL of the partner service is not stored', mend);
      try {
        await applicationSecret.read();
      } catch (error) {
        if (!(error instanceof ShapeError)) throw error;
        return fault(error.message, mend);
      }
      return ok(`credentials for ${baseUrl} are stored`);
    }),
    check('tokens', async () => {
      const accounts = (await state().partnerAccounts.list(() => undefined)).filter(
        (account) => !stopOf(account),
      );
      const findings = await Promise.all(accounts.map((account) => tokenOf(account, state(), target)));
      return together(`token pairs found: ${accounts.length}, none is missing`, findings);
    }),
  ];
}

function integrityOf(target: LocalTarget): Finding {
  const file = stateFileIn(target.dir);
  if (!isThere(file)) throw new SkippedError('needs a bridge in the folder: see folder');
  let db: DatabaseSync;
  try {
    refuseForeignFolder(target.dir);
  } catch (cause) {
    throw new SkippedError('needs a folder that nobody else controls: see owner', { cause });
  }
  try {
    db = openStateFileToRead(target.dir);
  } catch (error) {
    if (!(error instanceof StateError) || error.code !== 'state-outdated') throw error;
    return warning(error.message, `\`${commandFor(target, 'status')}\``);
  }
  try {
    const [first] = db.prepare('PRAGMA quick_check(1)').all() as { quick_check: string }[];
    if (first?.quick_check === 'ok') return ok(`${file} is whole`);
  } finally {
    db.close();
  }
  return fault(
    `${file} is damaged`,
    'Restore the folder from a backup (docs/operate/backup.md), or move it away and connect the partner accounts again',
  );
}

async function tokenOf(
  account: PartnerAccount,
  { vault, settings }: EmbeddedState,
  target: LocalTarget,
): Promise<Finding> {
  const { name, token } = account;
  const connect = `\`${connectCommand(target, name)}\``;
  let found: Awaited<ReturnType<typeof vault.read>>;
  try {
    found = await vault.read(name);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    return fault(error.message, connect);
  }
  if (!found) return fault(`${name} has no token pair`, connect);
  const { requiredScope } = await readRunSettings({ settings });
  const missing = missingScopes(found.pair.scope, requiredScope);
  if (missing.length > 0) {
    return warning(
      `${name} was not granted ${missing.join(' ')}, which a run requires`,
      `${connect}; or leave it out of \`run --required-scope\``,
    );
  }
  if (token && token.version !== found.version) {
    return warning(
      `the token pair of ${name} is not the one that its row names`,
      `\`${commandFor(target, 'run')}\` takes it in; if this stays, ${connect}`,
    );
  }
  return ok(name);
}

/** Without feeds that are late only because the bridge is not running: the check of the run reports that. */
export function withoutRest(status: Status, { dir }: LocalTarget): Status {
  if (isRunning(dir)) return status;
  const partnerAccounts = status.partnerAccounts.map((account) => ({
    ...account,
    attention: account.attention.filter((cause) => cause !== lagging),
  }));
  return { ...status, partnerAccounts };
}
