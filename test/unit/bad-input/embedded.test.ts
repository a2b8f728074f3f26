import { statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { shortenWaits } from '../../helpers/short-waits.ts';
import { startLocal } from '../operators/cli/local-bridge.ts';
import { echoesOf, formsOf, leaksIn, type Place } from './leaks.ts';
import { hostilePage, noPages, secrets } from './values.ts';

const { client: clientSecret, refreshToken: firstToken, otherClient, wrongToken } = secrets;

/** Every row of the state file, but for the two places that secrets belong in. */
function rowsOf(dir: string): { rows: Place[]; secretRows: string } {
  const db = new DatabaseSync(path.join(dir, 'bridge.db'), { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
      name: string;
    }[];
    const all = tables.flatMap(({ name }) =>
      db
        .prepare(`SELECT * FROM "${name}"`)
        .all()
        .map((row) => ({ table: name, row })),
    );
    const isSecret = ({ table, row }: (typeof all)[number]) =>
      table === 'rows' && (row.kind === 'tokens' || row.name === 'application');
    const textOf = ({ row }: (typeof all)[number]) => Object.values(row).join('\n');
    return {
      rows: all
        .filter((one) => !isSecret(one))
        .map((one) => ({ where: `table ${one.table}`, text: textOf(one) })),
      secretRows: all.filter(isSecret).map(textOf).join('\n'),
    };
  } finally {
    db.close();
  }
}

it('the search finds a secret wherever it leaks', () => {
  const inBasic = Buffer.from(`client-id:${clientSecret}:x`).toString('base64');
  const texts = [...formsOf(clientSecret), inBasic].map((form) => `before ${form} after`);

  for (const text of texts) expect(leaksIn([{ where: 'here', text }], [clientSecret])).not.toEqual([]);
  expect(leaksIn([{ where: 'here', text: 'nothing' }], [clientSecret])).toEqual([]);
});

it('no secret leaves the embedded bridge through a whole life with faults', async () => {
  // It waits before it asks the token endpoint again.
  shortenWaits(20);
  const users = [{ name: 'main', refreshToken: firstToken, adverts: 0 }];
  const local = await startLocal({ clientSecret, users });
  const { sandbox, dir } = local;
  const { control } = sandbox;
  const places: Place[] = [];
  const command = async (args: string, stdin = '') => {
    const ended = await local.run(args, { stdin });
    const where = args.split(' ')[0];
    places.push(
      { where: `stdout of ${where}`, text: ended.stdout },
      { where: `stderr of ${where}`, text: ended.stderr },
    );
    places.push(...rowsOf(dir).rows);
    return ended;
  };
  const run = () =>
    command(
      'run --until-idle --verbose --advert-tries 1 --max-requests-per-second 10000 --confirm-unavailable-seconds 0',
    );
  const application = (secret: string) =>
    command(`application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin`, secret);
  const connect = (token: string) => command('connect main --refresh-token-stdin', token);
  const refuse = (
    endpoint: 'token' | 'advert' | 'feed',
    status: number,
    code: string,
    text: string,
    more = {},
  ) =>
    control.faults.add({
      ...{ endpoint, kind: 'status', status, count: 1, ...more },
      body: { error: code, error_description: text },
    });

  /** All hostile values in a page: what is no ID is dead-lettered, and no advert beside it is lost. */
  const hostilePages = async () => {
    for (const body of noPages) {
      control.faults.add({ kind: 'wrong-shape', endpoint: 'feed', body });
      expect((await command('poll main')).exitCode).toBe(1);
      control.faults.clear();
    }
    const ids = control.createAdverts(3, { status: 'active' });
    const body = hostilePage(ids, access().flatMap(echoesOf));
    control.faults.add({ kind: 'wrong-shape', endpoint: 'feed', body, count: 1 });
    const { stdout, exitCode } = await run();
    expect(exitCode).toBe(3);
    for (const id of ids) expect(stdout).toContain(`"advertId":"${id}"`);
    const listed = JSON.parse((await command('dead-letters list --json')).stdout);
    expect(listed.deadLetters).toMatchObject([{ fault: 'malformed-id' }]);
    expect((await local.status()).partnerAccounts[0].books).toMatchObject({ inFlight: 0 });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  };

  await application(clientSecret);
  refuse('token', 400, 'invalid_request', echoesOf(clientSecret)[0] ?? '');
  expect((await connect(firstToken)).exitCode).toBe(1);
  expect((await connect(firstToken)).exitCode).toBe(0);
  const access = () => control.issuedTokens().filter((token) => token !== firstToken);

  await hostilePages();

  // Echoed by an advert's refusal into dead letters, by the feed's into its state and the log.
  const echoes = access().flatMap(echoesOf).join(' ; ').slice(0, 280);
  const [advertId] = control.createAdverts(1, { status: 'active' });
  refuse('advert', 423, 'locked', echoes, { advertId });
  expect((await run()).exitCode).toBe(3);
  refuse('feed', 400, 'validation_error', echoes, { count: 2 });
  expect((await command('poll main')).exitCode).toBe(1);

  // The token endpoint repeats the refresh token and the client secret while the token has run out.
  for (const text of [...echoesOf(firstToken), ...echoesOf(clientSecret)]) {
    control.expireAccessTokens();
    refuse('token', 503, 'temporarily_unavailable', text);
    // The endpoint is asked again at once.
    await command('resume main --early');
    await run();
  }
  expect((await application(otherClient)).exitCode).toBe(0);
  control.expireAccessTokens();
  refuse('token', 401, 'invalid_client', echoesOf(otherClient).join(' '));
  expect((await run()).exitCode).not.toBe(0);
  await application(clientSecret);

  // The grant is revoked and the stop reported; then the account is connected again, its dead letters are redriven, and
  // it is disconnected.
  control.revoke();
  expect((await run()).exitCode).toBe(3);
  expect((await connect(wrongToken)).exitCode).toBe(1);
  for (const args of ['status', 'status --json', 'dead-letters list', 'dead-letters list --json'])
    await command(args);
  expect((await connect(control.issueRefreshToken())).exitCode).toBe(0);
  // What was no ID stays dead-lettered.
  expect((await run()).exitCode).toBe(3);
  const kept = rowsOf(dir).secretRows;
  await command('disconnect main');

  const all = [...control.issuedTokens(), ...Object.values(secrets)];
  expect(leaksIn(places, all)).toEqual([]);
  // That the search finds what is there: the pair and the client secret are where they belong.
  expect(leaksIn([{ where: 'secrets', text: kept }], all).length).toBeGreaterThan(2);
  expect(places.some(({ text }) => text.includes('PartnerAuthorizationRestored'))).toBe(true);
  expect(places.some(({ text }) => text.includes('[redacted]'))).toBe(true);
  for (const file of [dir, path.join(dir, 'bridge.db')]) expect(statSync(file).mode & 0o077).toBe(0);
}, 60_000);
