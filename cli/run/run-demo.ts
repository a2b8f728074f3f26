import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AccountStatus } from '../../operations/account-status.ts';
import { readStatus } from '../../operations/status.ts';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { withBridge } from '../bridge/open.ts';
import { runOptions } from '../run/options.ts';
import { runBridge } from '../run/run-bridge.ts';
import { eventOutput } from '../shared/event-output.ts';
import { type ExitCode, exitCodes, type Io, say } from '../shared/io.ts';
import { checkedOptions, schemasOf } from '../shared/options.ts';
import type { LocalTarget } from '../shared/target.ts';
import { booksText } from '../shared/wording.ts';

const partnerAccount = 'main';
const changeEveryMs = 700;
const settings = {
  pollSeconds: 1,
  maxRequestsPerSecond: 200,
  confirmUnavailableSeconds: 1,
  overlapSeconds: 10,
};

interface Demo {
  readonly io: Io;
  readonly target: LocalTarget;
  readonly control: Sandbox['control'];
}

/** @param changes number of changes to make before it ends; undefined: makes changes until it is stopped */
export async function runDemo(given: Io, changes: number | undefined, json: boolean): Promise<ExitCode> {
  const io = eventOutput(given, json);
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-'));
  const target: LocalTarget = { kind: 'local', dir };
  const sandbox = await startSandbox({
    users: [{ name: partnerAccount, adverts: 0 }],
    visibilityDelayMs: changes === undefined ? 1000 : 0,
    onFault: (error) => say(io, `sandbox: ${String(error)}`),
  });
  const demo = { io, target, control: sandbox.control };
  try {
    await connectTo(sandbox, target);
    if (changes !== undefined) return await makeChanges(demo, changes);
    const [id] = sandbox.control.createAdverts(3, { status: 'active' });
    say(io, startText(sandbox.url, id, settings.pollSeconds + 1));
    return await changeUntilStopped(demo);
  } finally {
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function connectTo({ url: baseUrl, application, users }: Sandbox, target: LocalTarget): Promise<void> {
  const { clientId, clientSecret } = application;
  const stored = { clientId, clientSecret: new Secret(clientSecret), baseUrl };
  await withBridge(target, ({ functions }) => functions.storeApplication(stored), { create: true });
  const refreshToken = new Secret(users[0]?.refreshToken ?? '');
  await withBridge(target, ({ functions }) => functions.connect({ partnerAccount, refreshToken }), {
    settings,
  });
}

const run = ({ io, target }: Demo, untilIdle: boolean) =>
  runBridge(io, target, checkedOptions(schemasOf(runOptions), { ...settings, untilIdle }));

async function changeUntilStopped(demo: Demo): Promise<ExitCode> {
  const { control } = demo;
  const over = new AbortController();
  const running = run(demo, false).finally(() => over.abort());
  const change = async () => {
    for (let turn = 1; !over.signal.aborted; turn += 1) {
      await systemClock.sleep(changeEveryMs, over.signal);
      if (turn % 5 === 0 && control.truth().length < 50) control.createAdverts(1, { status: 'new' });
      else control.changeRandomly(1);
    }
  };
  await Promise.all([running, change()]);
  return report(demo);
}

/** Half of the changes create adverts, and the other half change them, so that each causes its own event. */
async function makeChanges(demo: Demo, changes: number): Promise<ExitCode> {
  const { io, control } = demo;
  const ids = control.createAdverts(Math.ceil(changes / 2), { status: 'new' });
  await run(demo, true);
  for (const id of ids.slice(0, Math.floor(changes / 2))) control.setStatus(id, 'active');
  const { stopped } = await run(demo, true);
  if (stopped) say(io, stoppedText);
  return report(demo, control.changeCount());
}

/**
 * Prints the books.
 *
 * @param changes number of changes that must be listed and delivered; undefined: some may be missing
 * @returns 0 if the books balance
 */
async function report({ io, target }: Demo, changes?: number): Promise<ExitCode> {
  const { partnerAccounts } = await withBridge(target, (bridge) => readStatus(bridge, Date.now()));
  const books = partnerAccounts[0]?.books;
  if (!books) return exitCodes.fault;
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const sum = events + unchanged + coalesced + unavailable + deadLettered + inFlight;
  const isBalanced = listed === sum && (changes === undefined || (listed === changes && inFlight === 0));
  say(io, endText(books, isBalanced));
  return isBalanced ? exitCodes.done : exitCodes.fault;
}

const startText = (url: string, advertId: string | undefined, withinSeconds: number): string =>
  `Sandbox partner service: ${url}/_sandbox/ (lists the calls)
Change an advert yourself:  curl -d '{"method":"setStatus","args":["${advertId}","sold"]}' ${url}/_sandbox/
Events appear below within ${withinSeconds} seconds of a change. Ctrl-C ends the demo.\n`;

const stoppedText = '\nThe demo was stopped before everything was delivered.';

const endText = (books: AccountStatus['books'], isBalanced: boolean): string =>
  `\nbooks: ${booksText({ books })}\n${isBalanced ? 'They balance.' : 'THEY DO NOT BALANCE.'}`;
