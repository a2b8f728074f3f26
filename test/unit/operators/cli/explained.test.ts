/** Every error that an operator may meet says what to do, in words of the outside. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { explained } from '../../../../operators/cli/shared/explain.ts';
import { localTarget, stackTarget, type Target } from '../../../../operators/cli/shared/target.ts';
import { CommandError, UsageError } from '../../../../operators/operations/errors.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { BridgeFault, type FaultKind, faultKinds } from '../../../../shared/domain/faults.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const local = localTarget('./state');
const targets: readonly Target[] = [local, stackTarget('AdvertBridge')];
const named = (name: string, message: string, more = {}) =>
  Object.assign(new Error(message), { name, ...more });
const secret = (name: string) =>
  new ShapeError(`secret advert-bridge/${name}`, [{ path: '', expected: 'expected JSON' }]);

/** Faults that only messages in the queue have, and those that a command never meets on its own. */
const notOfCommands: readonly FaultKind[] = [
  'account-busy', // Its message says by itself when to try again.
  ...(['not-found', 'delivered-too-often', 'account-stopped', 'account-paused', 'token-rejected'] as const),
];
const faults = faultKinds
  .filter((kind) => !notOfCommands.includes(kind))
  .map((kind): [string, Error] => [kind, new BridgeFault(kind, 'GET /x answered 418')]);

const ofAws: readonly (readonly [string, Error])[] = [
  ['expired credentials', named('ExpiredToken', 'The security token included in the request is expired')],
  ['denied', named('AccessDeniedException', 'User: me is not authorized to perform: x')],
  ['no region', new Error('Region is missing')],
  ['no network', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
  ['a lost table', named('ResourceNotFoundException', 'Requested resource not found', { $metadata: {} })],
];

/** A command or a page to go to, an option or a setting to change, something to ask or to do again. */
const mend = /`[^`]+`|docs\/|--[a-z]|setting|again|Is it up|Set AWS|Check|Sign in|Connect|stored/;
const privateWord = /undefined|null|NaN|\[object|Error\b|etag|fence|ShapeError|at \/|\.ts\b/;

describe.each(targets)('an error on a $kind bridge', (target) => {
  it.each<readonly [string, Error]>([
    ...faults,
    ['a damaged secret of an account', secret('partner-accounts/main')],
    ['a damaged secret of the application', secret('application')],
    ...(target.kind === 'stack' ? ofAws : []),
  ])('an error comes with its remedy: %s', (_kind, error) => {
    const shown = explained(error, target);

    expect(shown instanceof CommandError || shown instanceof UsageError).toBe(true);
    expect(shown.message).toMatch(mend);
    expect(shown.message).not.toMatch(privateWord);
    expect(shown.message).not.toMatch(/\n/);
  });
});

it('a fault gives its reason, also one whose words are in the sentence', () => {
  const { message } = explained(new BridgeFault('malformed-state', 'data'), local);
  expect(message).toMatch(/^stored data is damaged \(data\)\. /);
});

it('the base URL is not blamed when the service answers with its own fault', () => {
  const answered = explained(new BridgeFault('transient', 'GET /x answered 503', { status: 503 }), local);
  const silent = explained(new BridgeFault('transient', 'GET /x: no connection'), local);

  expect(answered.message).toMatch(/answers, but with a fault of its own: .*503\. Try again in a while$/);
  expect(silent.message).toContain('Is it up, and is its base URL right?');
});

it('connect ends with 2 and a choice when the user is another or unknown', () => {
  const error = new BridgeFault('other-user', 'it cannot be told');

  expect(explained(error, local)).toBeInstanceOf(UsageError);
});

it('an unexpected error stays what it is, to be reported', () => {
  const error = new TypeError('x is not a function');

  expect(explained(error, local)).toBe(error);
});

const scratch = scratchFolders();
const profiles = `
[default]
region = eu-central-1
[profile mfa]
role_arn = arn:aws:iam::111122223333:role/admin
source_profile = me
mfa_serial = arn:aws:iam::111122223333:mfa/me
[profile sso]
sso_session = team
sso_account_id = 111122223333
sso_role_name = admin
[sso-session team]
sso_start_url = https://team.awsapps.com/start
sso_region = eu-central-1
`;
const me = '[me]\naws_access_key_id = AKIA\naws_secret_access_key = secret\n';

/** The errors are those of the SDK, which finds no credentials or no region in this environment. */
it.each<readonly [environment: Record<string, string | undefined>, says: string, mend: string]>([
  [{ AWS_PROFILE: 'gone' }, 'no AWS credentials were found', 'get-caller-identity'],
  [{ AWS_PROFILE: 'mfa' }, 'the AWS profile mfa asks for a code', 'export-credentials --profile mfa'],
  [{ AWS_PROFILE: 'sso' }, 'AWS refused the credentials', '`aws sso login`'],
  [{}, 'no AWS credentials were found', 'set AWS_PROFILE or AWS_ACCESS_KEY_ID'],
  [{ AWS_PROFILE: 'me', AWS_REGION: '' }, 'there is no such AWS region', 'Set AWS_REGION, such as'],
  [
    { AWS_PROFILE: 'me', AWS_REGION: 'eu_central_1' },
    'there is no such AWS region',
    'Set AWS_REGION, such as',
  ],
  [{ AWS_PROFILE: 'me', AWS_REGION: undefined }, 'no AWS region is set', 'Set AWS_REGION, such as'],
])('an environment that is not enough for AWS is explained: %j', async (environment, says, mend) => {
  const dir = scratch();
  const files = {
    AWS_CONFIG_FILE: join(dir, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: join(dir, 'credentials'),
  };
  writeFileSync(files.AWS_CONFIG_FILE, profiles);
  writeFileSync(files.AWS_SHARED_CREDENTIALS_FILE, me);
  const bare = Object.keys(process.env).filter((name) => name.startsWith('AWS_'));
  for (const name of [...bare, 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  const whole = { ...files, AWS_REGION: 'eu-central-1', AWS_EC2_METADATA_DISABLED: 'true', ...environment };
  for (const [name, value] of Object.entries(whole)) vi.stubEnv(name, value);

  const error = await new DynamoDB({}).listTables().catch((error: unknown) => error);

  const { message } = explained(error, stackTarget('AdvertBridge'));
  expect(message).toMatch(new RegExp(`^${says}`));
  expect(message).toContain(mend);
});

it('a region of which the network knows no host is named', () => {
  const error = named('Error', 'getaddrinfo ENOTFOUND dynamodb.frankfurt.amazonaws.com', {
    code: 'ENOTFOUND',
  });

  const { message } = explained(error, stackTarget('AdvertBridge'));

  expect(message).toMatch(/^AWS has no region frankfurt, or .+ Set AWS_REGION, .+ or check the network/);
});
