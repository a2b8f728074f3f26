import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, it, vi } from 'vitest';
import { seededRandom } from '../../../kits/typescript/testing/player.ts';
import { createApplicationSecret, createTokenVault } from '../../../shared/aws/secrets.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { type FunctionName, startAws } from '../../helpers/aws/played-aws.ts';
import { echoesOf, leaksIn, type Place } from './leaks.ts';
import { hostilePage, noPages, secrets } from './values.ts';

const { client: clientSecret, code, otherClient } = secrets;
const redirectUri = 'http://127.0.0.1:8765/callback';

const clock = await vi.hoisted(async () => {
  const { createSleptClock } = await import('../../helpers/aws/slept-clock.ts');
  return createSleptClock();
});
vi.mock('../../../shared/domain/clock.ts', async (original) => ({
  ...(await original<object>()),
  systemClock: clock,
}));

/** The deployed functions; everything that leaves them is kept, except for calls to Secrets Manager. */
async function startBridge() {
  vi.resetModules();
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'DEBUG');
  const places: Place[] = [];
  const keep = (where: string) => (text: unknown) => places.push({ where, text: String(text) }) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('standard output'));
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('standard error'));
  const aws = await startAws({
    // Seeded: one random token in a thousand has no digit, and only a digit tells a token that is not ours from a word.
    sandbox: { clock, random: seededRandom(1), clientSecret },
    settings: { maxRequestsPerSecond: 100_000 },
    onCall: (operation, body) => operation.startsWith('secretsmanager') || keep(operation)(body),
    setEnvironment: (variables) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    },
  });
  const ask = async (name: FunctionName, event: object) => {
    const answer = (await aws.ask(name, event).catch((error: unknown) => error)) as object;
    keep(`answer of ${name}`)(JSON.stringify(answer) + String(answer));
    return answer;
  };
  const pass = async () => {
    await ask('drain', {});
    await aws.fanOut();
    clock.pass(60_000);
  };
  return { ...aws, places, ask, pass, [Symbol.asyncDispose]: aws.stop };
}

it('no secret leaves the deployed bridge through a whole life with faults', async () => {
  await using bridge = await startBridge();
  const { control } = bridge.sandbox;
  const secretsManager = new SecretsManagerClient();
  const connect = (secret: object) =>
    bridge.ask('connect', { action: 'connect', partnerAccount: 'main', ...secret });
  const check = () => bridge.ask('connect', { action: 'check' });
  const given = { action: 'check-application', clientId: 'sandbox-client', clientSecret };
  const store = (secret: string) =>
    createApplicationSecret(secretsManager, secretNames).write({
      clientId: new Secret('sandbox-client'),
      clientSecret: new Secret(secret),
    });
  const refuse = (endpoint: string, status: number, error: string, text: string, more = {}) =>
    control.faults.add({
      ...{ endpoint: endpoint as 'token', kind: 'status', status, count: 1, ...more },
      body: { error, error_description: text },
    });
  const stored = () => createTokenVault(secretsManager, secretNames).read('main');

  for (const text of [...echoesOf(code), ...echoesOf(clientSecret)]) {
    refuse('token', 400, 'invalid_grant', text);
    expect(await connect({ code, redirectUri })).toMatchObject({ kind: 'refused' });
  }
  expect(await check()).toMatchObject({ kind: 'accepted', scope: 'v2 read write' });
  expect(await bridge.ask('connect', given)).toMatchObject({ kind: 'accepted' });
  refuse('token', 401, 'unauthorized_client', echoesOf(clientSecret).join(' '), { count: 3 });
  for (const event of [{ action: 'check' }, given])
    expect(await bridge.ask('connect', event)).toMatchObject({ kind: 'refused', fault: 'client-rejected' });
  control.faults.clear();
  const used = control.issueCode({ redirectUri });
  expect(await connect({ code: used, redirectUri })).toMatchObject({ kind: 'connected' });

  for (const body of noPages) {
    control.faults.add({ kind: 'wrong-shape', endpoint: 'feed', body, count: 1 });
    await bridge.pass();
    // A feed that answers so again is held for five minutes.
    clock.pass(300_000);
  }
  const ids = control.createAdverts(3, { status: 'active' });
  const { pair: first } = (await stored()) ?? expect.fail();
  const page = hostilePage(ids, echoesOf(first.accessToken.reveal()));
  control.faults.add({ kind: 'wrong-shape', endpoint: 'feed', body: page, count: 1 });
  await bridge.pass();
  const sent = bridge.places.filter(({ where }) => where === 'events PutEvents').map(({ text }) => text);
  for (const id of ids) expect(sent.join()).toContain(`\\"advertId\\":\\"${id}\\"`);

  const adverts = control.createAdverts(3, { status: 'active' });
  // Of the pair that the bridge has; nobody could tell it what else looks like a secret to the service.
  const { pair } = (await stored()) ?? expect.fail();
  const held = [pair.accessToken.reveal(), pair.refreshToken.reveal()];
  const echoes = held.flatMap(echoesOf);
  for (const [index, advertId] of adverts.entries()) {
    refuse('advert', 400, 'validation_error', echoes[index] ?? '', { advertId });
  }
  await bridge.pass();
  for (const text of echoes) {
    refuse('feed', 400, 'validation_error', text, { count: 2 });
    await bridge.pass();
    // A feed that refuses its request again is held for five minutes.
    clock.pass(300_000);
  }

  for (const text of [...echoesOf(held[1] ?? ''), ...echoesOf(clientSecret)]) {
    control.expireAccessTokens();
    refuse('token', 503, 'temporarily_unavailable', text);
    // Longer than the endpoint is left alone.
    clock.pass(600_000);
    await bridge.pass();
  }
  await store(otherClient);
  clock.pass(300_000);
  control.expireAccessTokens();
  refuse('token', 401, 'invalid_client', echoesOf(otherClient).join(' '));
  await bridge.pass();
  await store(clientSecret);
  clock.pass(3_600_000);

  control.revoke();
  await bridge.pass();
  expect(await connect({ refreshToken: control.issueRefreshToken() })).toMatchObject({ isNew: false });
  await bridge.pass();
  await bridge.ask('refresh-token', {});
  await bridge.ask('refresh-token', { action: clientSecret });
  const forgetting = await connect({ action: 'disconnect', forget: true });
  await connect({ ...forgetting, action: 'forget' });

  const secrets = [...control.issuedTokens(), clientSecret, code, used, otherClient];
  expect(leaksIn(bridge.places, secrets)).toEqual([]);
  // That there was something to be found, and that the search finds what is there.
  expect(leaksIn([{ where: 'secret', text: held.join(' ') }], secrets).length).toBeGreaterThan(1);
  const whole = bridge.places.map(({ text }) => text).join('\n');
  const seen = ['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored', 'NeedsAttention'];
  for (const text of ['[redacted]', '"level":"ERROR"', ...seen]) expect(whole).toContain(text);
  const wheres = new Set(bridge.places.map(({ where }) => where));
  for (const where of ['standard output', 'events PutEvents', 'sqs SendMessageBatch', 'dynamodb PutItem'])
    expect(wheres).toContain(where);
}, 120_000);
