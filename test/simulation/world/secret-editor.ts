/** A person who does not know `connect`, and puts new credentials into the secret by hand during a refresh. */
import { stopOf } from '../../../shared/domain/partner-account.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import type { WireRequest } from '../../../shared/partner-api/http/transport.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import { nameOf } from './users.ts';

const share = 0.3;

/** Call this when a token request is sent: by then the refresh has read the old secret. */
export function mayEditSecret(world: SimWorld, process: Process, { path, body }: WireRequest): void {
  const { plan, phase, service, log } = world;
  if (!plan.editsSecrets || !phase.chaos || !path.endsWith('/oauth/token')) return;
  const { refresh_token: text } = JSON.parse(body ?? '{}') as { refresh_token?: string };
  const user = service.tokens.accountOf(text ?? '');
  const account = user && nameOf(user);
  // A person who runs a command supplies their own credentials.
  if (
    user === undefined ||
    account === undefined ||
    account === plan.lostAccount ||
    world.commanded.has(account)
  )
    return;
  const { key, random } = process.nextCall();
  if (random() >= share) return;
  const what = () => `${account}: new credentials are put into the secret by hand`;
  if (!log.allows(`${key}-edit`, what)) return;
  log.trace('a person', what);
  editSecret(world, account, user);
  world.coverage.count('person: edits a secret');
}

/** The same for a stopped account, whose tokens no process is changing. @returns whether the secret was edited */
export async function editsSecretOfStopped(world: SimWorld, account: string): Promise<boolean> {
  const { plan, phase, state, log, commanded, coverage, users } = world;
  const known = await state.partnerAccounts.read(account);
  const stop = known && stopOf(known);
  if (!plan.editsSecrets || !phase.chaos || commanded.has(account)) return false;
  if (!stop || stop.reason === 'disconnected' || known.refreshing) return false;
  log.trace(
    'a person',
    () => `${account}, which is stopped: new credentials are put into the secret by hand`,
  );
  editSecret(world, account, users.currentOf(account));
  coverage.count('person: edits the secret of a stopped account');
  return true;
}

function editSecret(
  { service, state, scheduler, tokenWatch }: SimWorld,
  account: string,
  user: string,
): void {
  const { access, refresh, expiresAt } = service.tokens.renew(user);
  const pair = {
    accessToken: new Secret(access),
    refreshToken: new Secret(refresh),
    scope: 'v2 read write',
    expiresAt,
    obtainedAt: scheduler.now(),
  };
  void state.vault.write(account, pair).then((version) => tokenWatch.edited(account, version));
}
