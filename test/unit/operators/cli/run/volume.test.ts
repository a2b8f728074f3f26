/** A volume of Kubernetes, as the kubelet leaves it, and a process of another Unix user that runs a bridge on it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, lchownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../../../sandbox/server.ts';
import { newFolder } from '../run-cli.ts';

const program = path.join(import.meta.dirname, '../../../../../operators/cli/main.ts');
const [user, fsGroup, root] = [12_345, 2_000, 0];
const inPod = { uid: user, gid: fsGroup };
const canBeUser =
  process.getuid?.() === root && spawnSync(process.execPath, ['--check', program], inPod).status === 0;

/** `securityContext: {runAsUser, fsGroup}`: what the kubelet does to the contents of a volume with each mount. */
function mount(place: string): void {
  const { mode, uid } = lstatSync(place);
  lchownSync(place, uid, fsGroup);
  const isFolder = lstatSync(place).isDirectory();
  chmodSync(place, mode | (isFolder ? 0o2770 : 0o660));
  for (const name of isFolder ? readdirSync(place) : []) mount(path.join(place, name));
}

async function startPod(mode: number, group: number) {
  const sandbox = await startSandbox({ visibilityDelayMs: 0 });
  onTestFinished(() => sandbox.close());
  const above = newFolder();
  chmodSync(above, 0o755);
  const volume = path.join(above, 'volume');
  mkdirSync(volume);
  chownSync(volume, root, group);
  chmodSync(volume, mode);
  const dir = path.join(volume, 'bridge');

  const inEnv =
    (env: Record<string, string>) =>
    async (args: string, stdin = '') => {
      const words = [program, ...args.split(' '), '--local', dir];
      const child = spawn(process.execPath, words, { ...inPod, cwd: '/', env });
      child.stdin.end(stdin);
      const ended = once(child, 'close');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return { exitCode: (await ended)[0], stdout, stderr };
    };
  const run = inEnv({ ADVERT_BRIDGE_VOLUME: volume });
  const application = `application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin`;
  const begin = () => run(application, 'sandbox-client-secret');
  const beginWith = (env: Record<string, string>) => inEnv(env)(application, 'sandbox-client-secret');
  return { sandbox, volume, dir, run, begin, beginWith };
}

describe.skipIf(!canBeUser)('a volume of Kubernetes', () => {
  it.each([
    ['with fsGroup', 0o2775, fsGroup],
    ['that is an emptyDir', 0o777, root],
  ])('a volume %s is refused, with the way to name it', async (_, mode, group) => {
    const { volume, beginWith } = await startPod(mode, group);

    expect(await beginWith({})).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/can be written by others.*docs\/operate\/service\.md#kubernetes/),
    });
    expect(readdirSync(volume)).toEqual([]);
  });

  it('a named volume with fsGroup carries a bridge through mounts', async () => {
    const { sandbox, volume, dir, run, begin } = await startPod(0o2775, fsGroup);

    expect(await begin()).toMatchObject({ exitCode: 0 });
    await run('connect main --refresh-token-stdin', 'sandbox-refresh-token-main');
    sandbox.control.createAdverts(2);
    mount(volume);
    expect(lstatSync(path.join(dir, 'bridge.db')).mode & 0o777).toBe(0o660);
    const { checks } = JSON.parse((await run('doctor --json')).stdout);
    const ran = await run('run --until-idle');

    for (const name of ['owner', 'file-modes'])
      expect(checks).toContainEqual(expect.objectContaining({ name, result: 'ok' }));
    expect(ran).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('Warning') });
    expect(ran.stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(lstatSync(path.join(dir, 'bridge.db')).mode & 0o777).toBe(0o600);
  });

  it('a named emptyDir carries a bridge', async () => {
    const { begin, run } = await startPod(0o777, root);

    expect(await begin()).toMatchObject({ exitCode: 0 });
    expect((await run('status')).stderr).toBe('');
  });

  it('a volume that may only be read is read, and writing says so', async () => {
    const { sandbox, dir, run, begin } = await startPod(0o777, root);
    await begin();
    await run('connect main --refresh-token-stdin', 'sandbox-refresh-token-main');
    const [id] = sandbox.control.createAdverts(1);
    await run('run --until-idle');
    for (const name of readdirSync(dir)) chmodSync(path.join(dir, name), 0o400);
    chmodSync(dir, 0o500);

    expect(await run('status main')).toMatchObject({
      exitCode: 3,
      stdout: expect.stringContaining('listed:'),
    });
    expect(await run(`history main ${id}`)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('1'),
    });
    expect((await run('doctor')).stdout).toContain('warning  folder: this user may only read');
    for (const command of ['pause', 'resync main --since 2026-11-20T12:00:00Z', 'run'])
      expect(await run(command)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('cannot be written'),
      });
  });
});
