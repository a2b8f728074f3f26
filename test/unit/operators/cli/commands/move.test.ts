import { expect, it } from 'vitest';
import { takeRunLock } from '../../../../../embedded/state/file/run-lock.ts';
import { createFeedStates } from '../../../../../shared/state/feed-states.ts';
import { startLocal } from '../local-bridge.ts';
import { beforeEachStack, type PlayedStack } from '../played-stack.ts';
import { cli } from '../run-cli.ts';

let stack: PlayedStack;
beforeEachStack((begun) => {
  stack = begun;
});

const clientIs = (id: string) => ({ kind: 'authorize', url: `https://partner.example/?client_id=${id}` });
const stored = { kind: 'stored', version: 'v1' };
/** What docs/operate/move.md says that an operator has to be allowed, without the application's secret. */
const documented = [
  'cloudformation:DescribeStacks',
  'dynamodb:GetItem',
  'dynamodb:PutItem',
  'dynamodb:Query',
  'lambda:InvokeFunction',
];

/** A folder with the account `shop`, three of whose adverts were published, and the stack of its service. */
async function startFolder() {
  const local = await startLocal();
  await local.application();
  const { refreshToken } = local.sandbox.control.addUser('shop', { adverts: 3 });
  expect(await local.connect('shop', refreshToken)).toMatchObject({ exitCode: 0 });
  local.sandbox.control.createAdverts(3, { user: 'shop' });
  expect(await local.run('run --until-idle')).toMatchObject({ exitCode: 0 });
  stack.played.outputs = { PartnerBaseUrl: local.sandbox.url };
  stack.played.answers = [clientIs('sandbox-client'), stored];
  const move = (more = '') => cli(`move --local ${local.dir} --stack AdvertBridge${more}`);
  return { ...local, move };
}

it('move takes the accounts to the stack without asking the service', async () => {
  const { move, sandbox, run, dir } = await startFolder();
  const { nextIndex } = sandbox.control.journal;
  stack.forgetCalls();

  const { exitCode, stdout, stderr } = await move();

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: '' });
  expect(stderr).toMatch(/shop +to-move +3 +0 +0\n/);
  expect(stderr).toContain('Moved 1 partner account to stack AdvertBridge');
  expect(await stack.partnerAccounts.read('shop')).toMatchObject({
    ...{ token: { version: 'v1' }, bridge: expect.stringMatching(/^bridge-/) },
  });
  const [feed] = await createFeedStates(stack.store).ofAccount('shop');
  expect(feed?.cursor).toEqual(expect.any(String));
  expect(await stack.store.list('history', { prefix: 'shop/' })).toHaveLength(3);
  expect(sandbox.control.journal.nextIndex).toBe(nextIndex);
  expect([...new Set(stack.calls().map(({ action }) => action))].sort()).toEqual(documented);
  const says = `${dir} were moved to stack AdvertBridge`;
  for (const command of ['run', 'status', 'connect shop --refresh-token-stdin'])
    expect(await run(command, { stdin: 'x' })).toMatchObject({
      ...{ exitCode: 1, stderr: expect.stringContaining(says) },
    });
  const checked = await run('doctor');
  expect(checked).toMatchObject({ exitCode: 1, stdout: expect.stringContaining(says) });
  expect(checked.stdout).toMatch(/`advert-bridge status.*\n.*1 fault, /s);
  expect(checked.stdout).not.toContain('see state-file');
});

it('move shows no secret and gives them to the stack in one call', async () => {
  const { move, inState } = await startFolder();
  const pair = await inState(async ({ vault }) => (await vault.read('shop'))?.pair);
  const secrets = [pair?.accessToken.reveal() ?? '', pair?.refreshToken.reveal() ?? ''];

  const { stdout, stderr } = await move(' --json');

  const others = stack.calls().filter(({ operation }) => operation !== 'Invoke');
  for (const secret of secrets) {
    expect(secret).not.toBe('');
    expect(stdout + stderr).not.toContain(secret);
    expect(JSON.stringify(others.map(({ input }) => input))).not.toContain(secret);
  }
});

it('move --dry-run changes neither side, even while the folder runs', async () => {
  const { move, dir, run } = await startFolder();
  const lock = takeRunLock(dir, 'a run');
  stack.forgetCalls();

  const shown = await move(' --dry-run --json');

  expect(shown.exitCode).toBe(0);
  expect(JSON.parse(shown.stdout)).toEqual({
    ...{ stack: 'AdvertBridge', dryRun: true },
    partnerAccounts: [{ partnerAccount: 'shop', state: 'to-move', adverts: 3, waiting: 0, deadLetters: 0 }],
  });
  // Each asks only whether it may write: nothing meets its condition.
  const asks = { Item: { sk: { S: 'move' } }, ConditionExpression: '#etag = :expected' };
  expect(stack.inputsOf('PutItem')).toMatchObject([asks, asks]);
  expect(await move()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('in use by') });
  lock.release();
  expect((await run('status --json')).stdout).toContain('shop');
});

it('the folder names the command that continues an interrupted move', async () => {
  const { move, run, dir } = await startFolder();
  stack.played.answers = [
    clientIs('sandbox-client'),
    { kind: 'refused', fault: 'transient', reason: 'later' },
  ];
  expect(await move()).toMatchObject({ exitCode: 1 });

  expect(await run('run')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`move --local ${dir} --stack AdvertBridge`),
  });
  stack.played.answers = [clientIs('sandbox-client'), stored];
  expect(await move()).toMatchObject({ exitCode: 0 });
});

it('move stores the application and refuses a stack of another version', async () => {
  const { move } = await startFolder();
  const empty = { kind: 'refused', fault: 'wrong-shape', reason: 'empty' };
  stack.played.answers = [empty, stored];
  stack.played.outputs.Version = '0.0.1';
  expect(await move()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Advert Bridge 0.0.1') });
  stack.played.outputs = { PartnerBaseUrl: stack.played.outputs.PartnerBaseUrl ?? '' };

  expect(await move()).toMatchObject({ exitCode: 0 });

  expect(stack.inputsOf('PutSecretValue')).toMatchObject([{ SecretId: 'advert-bridge/application' }]);
});
