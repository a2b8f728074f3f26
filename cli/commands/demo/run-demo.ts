import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type RunResult, runEmbeddedBridge } from '../../../embedded/bridge.ts';
import { createLocalConnect } from '../../../embedded/connect.ts';
import { createLinePublisher } from '../../../embedded/publishers.ts';
import { createTextObserver } from '../../../embedded/text-observer.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/server.ts';
import type { Books } from '../../../shared/domain/books.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { type EmbeddedState, openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { type ExitCode, exitCodes, type Io, say } from '../../shared/io.ts';
import { settingsWith } from '../../targets/local/bridge.ts';
import { closedText, endText, startText } from './text.ts';

const partnerAccount = 'main';
const changeEveryMs = 700;
const settings = settingsWith({
  pollSeconds: 1,
  maxRequestsPerSecond: 200,
  confirmUnavailableSeconds: 1,
  overlapSeconds: 10,
});

interface Demo {
  readonly io: Io;
  readonly state: EmbeddedState;
  readonly sandbox: Sandbox;
  /** Aborted by a signal, or when nobody reads standard output any more. */
  readonly signal: AbortSignal;
  run(untilIdle: boolean): Promise<RunResult>;
}

/** @param changes makes so many and ends; undefined: makes changes until it is stopped */
export async function runDemo(io: Io, changes: number | undefined): Promise<ExitCode> {
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-'));
  const sandbox = await startSandbox({
    users: [{ name: partnerAccount, adverts: 0 }],
    visibilityDelayMs: changes === undefined ? 1000 : 0,
    onFault: (error) => say(io, `sandbox: ${String(error)}`),
  });
  const state = openEmbeddedState(dir);
  const observer = createTextObserver(io.stderr, 'warn');
  const readerGone = new AbortController();
  const signal = AbortSignal.any([io.untilStopped(), readerGone.signal]);
  const partner = { state, baseUrl: sandbox.url, settings, observer };
  try {
    await connect(partner, sandbox);
    const events = createLinePublisher(io.stdout, () => readerGone.abort());
    const run = (untilIdle: boolean) =>
      runEmbeddedBridge({ ...partner, concurrency: 10, events, signal, untilIdle });
    const demo: Demo = { io, state, sandbox, signal, run };
    return changes === undefined ? await changeForEver(demo) : await makeChanges(demo, changes);
  } finally {
    state.close();
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function connect(
  partner: Parameters<typeof createLocalConnect>[0],
  { application, users }: Sandbox,
): Promise<void> {
  await partner.state.applicationSecret.write({
    clientId: new Secret(application.clientId),
    clientSecret: new Secret(application.clientSecret),
  });
  const local = createLocalConnect(partner);
  const refreshToken = new Secret(users[0]?.refreshToken ?? '');
  await local.connect({ partnerAccount, refreshToken }, { deadlineMs: Date.now() + 10_000 });
  local.close();
}

async function changeForEver({ io, state, sandbox, signal, run }: Demo): Promise<ExitCode> {
  const { control, url } = sandbox;
  const [id] = control.createAdverts(3, { status: 'active' });
  say(io, startText(url, id, settings.pollSeconds + 1));
  const change = async () => {
    for (let turn = 1; !signal.aborted; turn += 1) {
      await systemClock.sleep(changeEveryMs, signal);
      if (turn % 5 === 0 && control.truth().length < 50) control.createAdverts(1, { status: 'new' });
      else control.changeRandomly(1);
    }
  };
  await Promise.all([run(false), change()]);
  return report(io, await booksOf(state));
}

/** Half of the changes create adverts, the other half change them: each is an event of its own. */
async function makeChanges({ io, state, sandbox, signal, run }: Demo, changes: number): Promise<ExitCode> {
  const { control } = sandbox;
  const ids = control.createAdverts(Math.ceil(changes / 2), { status: 'new' });
  await run(true);
  for (const id of ids.slice(0, Math.floor(changes / 2))) control.setStatus(id, 'active');
  const { fault } = await run(true);
  if (fault) say(io, `the sandbox could not be read: ${fault.message}`);
  if (signal.aborted) say(io, closedText);
  const books = await booksOf(state);
  return report(io, books, control.changeCount() === books.listed && books.inFlight === 0);
}

async function booksOf(state: EmbeddedState): Promise<Books> {
  const account = await state.partnerAccounts.read(partnerAccount);
  return state.bookKeeper.read(partnerAccount, account?.value.generation ?? 0);
}

/** @returns 0 when the books balance, and everything was delivered where that is asked for */
function report(io: Io, books: Books, isDelivered = true): ExitCode {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const sum = events + unchanged + coalesced + unavailable + deadLettered + inFlight;
  const isBalanced = listed === sum && isDelivered;
  say(io, endText(books, isBalanced));
  return isBalanced ? exitCodes.done : exitCodes.fault;
}
