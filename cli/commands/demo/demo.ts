/**
 * `npm start`: the sandbox partner service and an embedded bridge in one process. Adverts change, and each change comes
 * out as an event on standard output, until Ctrl-C. With `--changes N`: N changes, delivered and accounted for.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import * as v from 'valibot';
import { runEmbeddedBridge } from '../../../embedded/bridge.ts';
import { createLocalConnect } from '../../../embedded/connect.ts';
import { createLinePublisher } from '../../../embedded/publishers.ts';
import { createTextObserver } from '../../../embedded/text-observer.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/server.ts';
import { bridgeSettings } from '../../../shared/contract/settings.ts';
import type { Books } from '../../../shared/domain/books.ts';
import { systemClock } from '../../../shared/domain/clock.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { type EmbeddedState, openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { say as sayTo } from '../../shared/io.ts';

const usage = `Runs the sandbox partner service and an embedded bridge in one process.
Adverts change by themselves; each change appears on standard output as one JSON line.

  npm start                      until Ctrl-C
  npm start -- --changes 200     200 changes, delivered and accounted for; exit 0 only if the books balance

Everything is kept in a temporary folder and removed at the end.`;

const partnerAccount = 'main';
const changeEveryMs = 700;
const observer = createTextObserver(process.stderr, 'warn');
const say = (text: string) => sayTo(process, text);

async function main(): Promise<number> {
  const changes = readArguments();
  if (typeof changes === 'string') {
    say(changes);
    return changes === usage ? 0 : 2;
  }
  const dir = mkdtempSync(path.join(tmpdir(), 'advert-bridge-'));
  const sandbox = await startSandbox({
    users: [{ name: partnerAccount, adverts: 0 }],
    visibilityDelayMs: changes ? 0 : 1000,
    onFault: (error) => say(`sandbox: ${String(error)}`),
  });
  const state = openEmbeddedState(dir);
  try {
    await connect(state, sandbox);
    return changes === undefined
      ? await runForEver(state, sandbox)
      : await runChanges(state, sandbox, changes);
  } finally {
    state.close();
    await sandbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @returns the number of changes, undefined without one, or what to print instead of running */
function readArguments(): number | undefined | string {
  try {
    const { values } = parseArgs({
      options: { changes: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) return usage;
    if (values.changes === undefined) return undefined;
    const changes = Number(values.changes);
    if (Number.isInteger(changes) && changes >= 1 && changes <= 1_000_000) return changes;
    return '--changes: expected a whole number from 1 to 1000000';
  } catch (error) {
    return `${error instanceof Error ? error.message : error}\n\n${usage}`;
  }
}

async function connect(state: EmbeddedState, sandbox: Sandbox): Promise<void> {
  const { application, users } = sandbox;
  await state.applicationSecret.write({
    clientId: new Secret(application.clientId),
    clientSecret: new Secret(application.clientSecret),
  });
  const local = createLocalConnect({ state, baseUrl: sandbox.url, settings: settingsOf(1), observer });
  const refreshToken = new Secret(users[0]?.refreshToken ?? '');
  await local.connect({ partnerAccount, refreshToken }, { deadlineMs: Date.now() + 10_000 });
  local.close();
}

const settingsOf = (pollSeconds: number) =>
  v.parse(v.object(bridgeSettings), {
    pollSeconds,
    maxRequestsPerSecond: 200,
    confirmUnavailableSeconds: 1,
    overlapSeconds: 10,
  });

/** Runs the bridge until `stop` is aborted, which it does itself when standard output is closed; or until idle. */
function runDemoBridge(state: EmbeddedState, sandbox: Sandbox, stop: AbortController, untilIdle: boolean) {
  return runEmbeddedBridge({
    state,
    baseUrl: sandbox.url,
    settings: settingsOf(1),
    concurrency: 10,
    events: createLinePublisher(process.stdout, () => stop.abort()),
    observer,
    signal: stop.signal,
    untilIdle,
  });
}

async function runForEver(state: EmbeddedState, sandbox: Sandbox): Promise<number> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  const [id] = sandbox.control.createAdverts(3, { status: 'active' });
  say(`Sandbox partner service: ${sandbox.url}/_sandbox/ (lists what you can do with it)
Change an advert yourself:  curl -d '{"status":"sold"}' ${sandbox.url}/_sandbox/adverts/${id}/status
Events appear below within ${settingsOf(1).pollSeconds + 1} seconds of a change. Ctrl-C ends it.\n`);
  const changing = changeForEver(sandbox, stop.signal);
  await runDemoBridge(state, sandbox, stop, false);
  await changing;
  return report(await booksOf(state));
}

async function changeForEver({ control }: Sandbox, signal: AbortSignal): Promise<void> {
  for (let turn = 1; !signal.aborted; turn += 1) {
    await systemClock.sleep(changeEveryMs, signal);
    if (turn % 5 === 0 && control.truth().length < 50) control.createAdverts(1, { status: 'new' });
    else control.changeRandomly(1);
  }
}

/** Half of the changes create adverts, the other half change them: each is an event of its own. */
async function runChanges(state: EmbeddedState, sandbox: Sandbox, changes: number): Promise<number> {
  const stop = new AbortController();
  const deliver = () => runDemoBridge(state, sandbox, stop, true);
  const ids = sandbox.control.createAdverts(Math.ceil(changes / 2), { status: 'new' });
  await deliver();
  for (const id of ids.slice(0, Math.floor(changes / 2))) sandbox.control.setStatus(id, 'active');
  const { fault } = await deliver();
  if (fault) say(`the sandbox could not be read: ${fault.message}`);
  if (stop.signal.aborted) say('\nStandard output was closed before all of it was delivered.');
  const books = await booksOf(state);
  return report(books, sandbox.control.changeCount() === books.listed && books.inFlight === 0);
}

async function booksOf(state: EmbeddedState): Promise<Books> {
  const account = await state.partnerAccounts.read(partnerAccount);
  return state.bookKeeper.read(partnerAccount, account?.value.generation ?? 0);
}

/** Prints the books. @returns the exit code: 0 when they balance, and all was delivered where that is asked for */
function report(books: Books, delivered = true): number {
  const { listed, events, unchanged, coalesced, unavailable, deadLettered, inFlight } = books;
  const balanced = listed === events + unchanged + coalesced + unavailable + deadLettered + inFlight;
  say(
    `\nbooks: ${listed} listed = ${events} events + ${unchanged} unchanged + ${coalesced} coalesced + ${unavailable} unavailable + ${deadLettered} dead-lettered + ${inFlight} in flight`,
  );
  say(balanced && delivered ? 'They balance.' : 'THEY DO NOT BALANCE.');
  return balanced && delivered ? 0 : 1;
}

process.exitCode = await main();
