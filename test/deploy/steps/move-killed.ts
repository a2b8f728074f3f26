import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { stateFileIn } from '../../../embedded/state/file/private-folder.ts';
import { openEmbeddedState } from '../../../embedded/state/state.ts';
import { movedTo } from '../../../operators/operations/move/moved-to.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { withHold, withoutHolds } from '../../../shared/domain/holds.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { rowPorts } from '../../../shared/state/row-ports.ts';
import { type Strike, startGate } from '../emulator/gate.ts';
import { advertBridgeOn } from '../stack/advert-bridge.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain, invoke } from '../stack/functions.ts';
import { checkMoved, eventsOf } from '../stack/histories.ts';
import type { Received } from '../stack/subscriber.ts';

const users = ['mover', 'rester'] as const;
/** Of a copy: neither the queue nor the bus takes what it does for a repetition of another copy. */
const nameIn = (copy: number, user: string): string => `${user}-${copy}`;

interface Template {
  /** A folder with the accounts `mover` and `rester`, which is paused. */
  readonly dir: string;
  /** What the folder has published. */
  readonly published: readonly Received[];
}

/** Moves copies of a folder, each killed after another write to AWS, while folder and stack do what they may. */
export async function moveKilledSteps(deployment: Deployment, { dir, published }: Template): Promise<void> {
  const { steps, say, sandbox, subscriber, cloud, outputs, env, processes, closing } = deployment;
  const { control } = sandbox;
  const table = (name: string) => ({ client: cloud.dynamo, name });
  const { partnerAccounts, deadLetters } = rowPorts(
    createStore({
      feedState: table(outputs.feedStateTableName),
      advertStatus: table(outputs.advertStatusTableName),
    }),
  );
  const from = subscriber.received.length;
  const ofFolders: Received[] = [];
  let copies = 0;
  const paused = { kind: 'operator', since: Date.now(), who: 'the test' } as const;

  /** A copy with names and tokens of its own. */
  async function copyFolder(copy: number): Promise<string> {
    const to = `${dir}-${copy}`;
    await cp(dir, to, { recursive: true });
    const db = new DatabaseSync(stateFileIn(to));
    for (const user of users)
      for (const column of ['messages.partner_account', 'messages.body', 'rows.name', 'rows.value']) {
        const [of, field] = column.split('.');
        db.exec(`UPDATE ${of} SET ${field} = replace(${field}, '${user}', '${nameIn(copy, user)}')`);
      }
    db.close();
    const state = openEmbeddedState(to);
    for (const user of users) {
      const name = nameIn(copy, user);
      const current = await state.vault.read(name);
      assert(current);
      const refreshToken = new Secret(control.issueRefreshToken(user));
      const version = await state.vault.write(name, { ...current.pair, refreshToken });
      await state.partnerAccounts.change(
        name,
        ({ token, ...account }) => token && { ...account, token: { ...token, version } },
      );
    }
    state.close();
    return to;
  }

  /** What folder and stack do of themselves, whoever owns the accounts. */
  async function live(copy: number, folder: string): Promise<void> {
    const state = openEmbeddedState(folder);
    const isGivenUp = await movedTo(state);
    state.close();
    if (!isGivenUp) {
      const local = advertBridgeOn(env, processes, ['--local', folder]);
      const args = ['run', '--until-idle', '--advert-tries', '1', '--confirm-unchanged-seconds', '0'];
      const { stdout } = await local.run(args, '', { expected: [0, 3] });
      ofFolders.push(...stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])));
    }
    await invoke(cloud, outputs.refreshTokenFunctionName);
    for (const user of users)
      await invoke(cloud, outputs.drainFunctionName, { action: 'poll', partnerAccount: nameIn(copy, user) });
  }

  await steps.check('move goes on after a kill at each of its writes', async () => {
    const gate = await startGate(cloud.endpoint);
    closing.push(gate.close);
    const through = { ...env, AWS_ENDPOINT_URL: gate.url };
    for (const user of users) control.expireAccessTokens(user);
    /** @returns whether the process was killed */
    async function moveKilled(strike?: Pick<Strike, 'write' | 'when'>): Promise<boolean> {
      const copy = copies++;
      const folder = await copyFolder(copy);
      const { run } = advertBridgeOn(through, processes, ['--local', folder]);
      const move = ['move', '--stack', 'AdvertBridge'];
      const kill = () => void process.kill(-(processes.groups.at(-1) ?? Number.NaN), 'SIGKILL');
      gate.begin(strike && { ...strike, kill });
      const { code } = await run(move, '', { expected: [-1, 0] });
      if (code === 0) return false;
      await live(copy, folder);
      gate.begin();
      await run(move);
      return true;
    }
    assert.equal(await moveKilled(), false);
    const writes = gate.writes();
    let kills = 0;
    for (const [index, written] of writes.entries()) {
      const write = index + 1;
      if (await moveKilled({ write, when: 'unanswered' })) kills += 1;
      // Only after an account's row does the command write to the folder, too.
      if (written === 'account' && (await moveKilled({ write, when: 'answered' }))) kills += 1;
    }
    // After the last answer it makes no request.
    assert.equal(kills, writes.length + writes.filter((written) => written === 'account').length - 1);
    say(`killed ${kills} times`);
  });

  await steps.check('each account that was moved so goes on with its next number', async () => {
    const names = Array.from({ length: copies }, (_, copy) => users.map((user) => nameIn(copy, user))).flat();
    for (const name of names)
      await partnerAccounts.change(name, (account) =>
        withoutHolds(account, ({ kind }) => kind === 'operator'),
      );
    await drain(cloud, outputs.drainFunctionName);
    const received = () => [...ofFolders, ...subscriber.received.slice(from)];
    // In the emulator, one batch after the other.
    await subscriber.readUntil(() => received().length >= names.length * 3, 3 * onItsWayMs);
    for (const name of names) {
      const [user = ''] = name.split('-');
      const before = JSON.parse(JSON.stringify(published).replaceAll(user, name));
      checkMoved(control, user, eventsOf(name, [...before, ...received()]));
      assert.equal(
        (await deadLetters.list(name)).length,
        user === 'mover' ? 1 : 0,
        `dead letters of ${name}`,
      );
      // The parts that follow have nothing to do with it.
      await partnerAccounts.change(name, (account) => withHold(account, paused));
    }
  });
}
