import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import packageJson from '../../../package.json' with { type: 'json' };
import { type Sandbox, startSandbox } from '../../../sandbox/server.ts';
import { stackName } from '../../../shared/contract/names.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { startConsole } from '../../console/console.ts';
import type { Bridge } from '../../operations/bridge.ts';
import { connectAccount } from '../../operations/connect-functions.ts';
import { failed } from '../../operations/errors.ts';
import { readStatus } from '../../operations/status.ts';
import { withBridge } from '../bridge/open.ts';
import { eventOutput } from '../shared/event-output.ts';
import { type ExitCode, exitCodes, type Io, print, say, untilUnread } from '../shared/io.ts';
import { checkedOptions, optionOf } from '../shared/options.ts';
import { programName, thisProgram } from '../shared/program.ts';
import { type LocalTarget, localTarget } from '../shared/target.ts';
import { are, countsText } from '../shared/wording.ts';
import { createBreaks } from './break-it.ts';
import { runOptions } from './options.ts';
import { runBridge, totalOf } from './run-bridge.ts';

const partnerAccount = 'main';
/** A second account shows what does not concern it: that the first one was revoked. */
const both = [partnerAccount, 'second'];
const changeEveryMs = 700;
const settings = {
  pollSeconds: 1,
  maxRequestsPerSecond: 200,
  confirmUnavailableSeconds: 1,
  confirmUnchangedSeconds: 1,
  overlapSeconds: 10,
  circuitSeconds: 5,
};

interface Demo {
  readonly io: Io;
  readonly target: LocalTarget;
  readonly sandbox: Sandbox;
}

/** @param changes number of changes to make before it ends; undefined: makes changes until it is stopped */
export async function runDemo(given: Io, changes: number | undefined, json: boolean): Promise<ExitCode> {
  const io = eventOutput(given, json);
  const dir = newFolder();
  const target = localTarget(dir);
  const sandbox = await startSandbox({
    users: (changes === undefined ? both : [partnerAccount]).map((name) => ({ name, adverts: 0 })),
    visibilityDelayMs: changes === undefined ? 1000 : 0,
    onFault: (error) => say(io, `sandbox: ${String(error)}`),
  });
  const demo = { io, target, sandbox };
  try {
    await connectAccounts(demo);
    const expected = changes === undefined ? await play(demo) : await makeChanges(demo, changes);
    return await report(demo, expected);
  } finally {
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function newFolder(): string {
  try {
    return mkdtempSync(path.join(tmpdir(), 'advert-bridge-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failed('no-room-for-demo', { folder: tmpdir(), code });
  }
}

async function connectAccounts({ target, sandbox: { url, application, users } }: Demo): Promise<void> {
  const [clientId, clientSecret] = [new Secret(application.clientId), new Secret(application.clientSecret)];
  const connect = async (bridge: Bridge) => {
    await bridge.storeApplication({ clientId, clientSecret }, url, stackName);
    for (const { name, refreshToken } of users)
      await connectAccount(bridge, { partnerAccount: name, refreshToken: new Secret(refreshToken) });
  };
  await withBridge(target, connect, { create: true, settings });
}

/** Changes adverts until it is stopped, with the bridge in a process of its own, and a console to watch and break it. */
async function play({ io, target, sandbox }: Demo): Promise<undefined> {
  const { control, url } = sandbox;
  const [[id] = []] = both.map((user) => control.createAdverts(3, { user, status: 'active' }));
  const isOver = AbortSignal.any([io.untilStopped(), untilUnread(io)]);
  const options = Object.entries(settings).flatMap(([name, value]) => [optionOf(name), String(value)]);
  const place = ['--local', target.dir];
  const { command } = target;
  const child = createRunProcess(io, [...place, ...options]);
  await withBridge(target, async (bridge) => {
    const breaks = createBreaks({
      sandbox,
      run: child,
      commands: { run: command('run'), reconnect: command(`connect ${partnerAccount}`) },
      reconnect: async () => {
        const refreshToken = new Secret(control.issueRefreshToken(partnerAccount));
        await connectAccount(bridge, { partnerAccount, refreshToken, sameUser: true });
      },
    });
    const started = await startConsole({
      bridge,
      breaks,
      place,
      command,
      program: thisProgram(),
      env: io.env,
      port: 0,
      again: `${programName()} demo`,
      isReadOnly: false,
      version: packageJson.version,
      say: (text) => say(io, text),
    });
    say(
      io,
      `Watch it, and break it:
  ${started.url}
Change an advert yourself: curl -d '{"method":"setStatus","args":["${id}","sold"]}' ${url}/_sandbox/
Each change becomes an event within a few seconds. Ctrl-C ends the demo.\n`,
    );
    child.start();
    for (let turn = 1; !isOver.aborted; turn += 1) {
      await systemClock.sleep(changeEveryMs, isOver);
      const user = both[turn % 2];
      if (turn % 5 === 0 && control.truth().length < 50) control.createAdverts(1, { user, status: 'new' });
      else control.changeRandomly(1, { user });
    }
    await Promise.all([child.end('SIGTERM'), started.close()]);
  });
}

/**
 * Half of the changes create adverts, and the other half change them, so that each causes its own event.
 *
 * @returns how many changes were made, and whether the demo was stopped before all were delivered
 */
async function makeChanges({ io, target, sandbox: { control } }: Demo, changes: number) {
  const run = async (what: string) => {
    say(io, what);
    return runBridge(io, target, checkedOptions(runOptions, { ...settings, untilIdle: true }));
  };
  const changed = Math.floor(changes / 2);
  const ids = control.createAdverts(changes - changed, { status: 'new' });
  let { stopped } = await run(`${are(ids.length, 'advert is', 'adverts are')} created:`);
  if (!stopped && changed > 0) {
    for (const id of ids.slice(0, changed)) control.setStatus(id, 'active');
    ({ stopped } = await run(`${are(changed, 'of them is', 'of them are')} changed:`));
  }
  return { changes: control.changeCount(), stopped };
}

/** @param expected what must be listed and delivered; absent: some may be missing */
async function report(
  { io, target }: Demo,
  expected?: Awaited<ReturnType<typeof makeChanges>>,
): Promise<ExitCode> {
  const { partnerAccounts } = await withBridge(target, (bridge) => readStatus(bridge, Date.now()));
  const books = totalOf(partnerAccounts);
  const { listed, ...outcomes } = books;
  const accounted = Object.values(outcomes).reduce((total, value) => total + value, 0);
  const isWhole = !expected || (listed === expected.changes && books.inFlight === 0);
  const isBalanced = listed === accounted && isWhole;
  let verdict = 'and not all of them have an outcome: THIS IS A FAULT OF THE BRIDGE';
  if (isBalanced) verdict = 'and each has an outcome';
  else if (expected?.stopped) verdict = 'and the demo was stopped before each had an outcome';
  say(io, `\n${are(listed, 'change was', 'changes were')} listed, ${verdict}: ${countsText(outcomes)}.`);
  return isBalanced ? exitCodes.done : exitCodes.fault;
}

/** `run` in a process of its own, which can be killed and started again. What it prints, `io` prints. */
function createRunProcess({ stdout, stderr, env }: Io, options: readonly string[]) {
  const [file, ...args] = thisProgram();
  let child: ChildProcess | undefined;
  return {
    pid: (): number | undefined => child?.pid,
    start(): void {
      if (child) return;
      const started = spawn(file, [...args, 'run', ...options], {
        // As npm sets it: it ends when this process is gone.
        env: { ...env, npm_lifecycle_event: 'start' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      createInterface({ input: started.stdout }).on('line', (line) => print(stdout, `${line}\n`));
      createInterface({ input: started.stderr }).on('line', (line) => say({ stderr }, line));
      started.on('error', ({ message }) => say({ stderr }, message));
      started.on('close', () => {
        child = undefined;
      });
    },
    async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
      if (!child) return;
      const closed = once(child, 'close');
      child.kill(signal);
      await closed;
    },
  };
}
