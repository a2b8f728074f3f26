import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../kits/typescript/testing/player.ts';
import type { AdvertTruth } from '../../sandbox/control/control.ts';
import type { JournalEntry } from '../../sandbox/state/journal.ts';
import { pick } from '../../sandbox/state/random.ts';
import { until } from '../helpers/until.ts';
import { endWithin, type Life, type Options, startBridge, stopLife } from './bridge.ts';
import { checkBridge, type Verdict } from './check-bridge.ts';
import { createWeather } from './weather.ts';

/** So many that a refresh of one of them is always near. */
const names = ['anna', 'bert', 'cleo', 'dora', 'emil', 'fred', 'gina', 'hans', 'ines', 'jens'];
/** Connected together, for each of them takes its time. */
const connectedTogether = 3;
/** Life of an access token: with less than five seconds left it counts as expired. */
const shortSeconds = 7;
/** A process that has lived so long after an answer has stored it. */
const storedWithinMs = 1_000;
/** A renewal waits twice as long each time its process was killed before it could use the token (renewal.ts). */
const renewedWithinMs = 300_000;
/** Of so many lives, one is not killed before all is stored, but answers are late, and it may stand still meanwhile. */
const livesPerPatience = 20;
/** How long it stands still: not, longer than a refresh may last, longer than a request for an advert may last. */
const frozenMs = [0, 32_000, 14_000];

interface Tokens {
  /** Their access tokens expire. */
  readonly due: readonly string[];
  /** So late are answers with tokens, each with the probability. */
  readonly lateMs?: number;
  readonly probability?: number;
  /** How long access tokens live. */
  readonly lifeSeconds?: number;
}

/**
 * Kills the bridge around refreshes, at a service that takes only the newest refresh token. What can be lost is the pair
 * that was under way when its process died: that account is stopped, which is said, and goes on when it is connected again.
 */
export async function runRefreshes({ seed, kills, changes }: Options): Promise<Verdict> {
  const random = seededRandom(seed);
  const bridge = await startBridge(names, { seed, adverts: 10 });
  const { control } = bridge.service;
  const weather = createWeather(bridge.service, random);
  const faults: string[] = [];
  const answeredAt = new Map<JournalEntry, number>();
  /** Accounts whose newest pair may have died with a process; and those of which this has shown, until they are connected. */
  const [inDoubt, refused] = [new Set<string>(), new Set<string>()];
  const losses: string[] = [];
  /** Index of the first request with the account's latest authorization. */
  const connectedFrom = new Map<string, number>();
  let [nextIndex, underWay] = [0, 0];

  /** The token requests that are not judged yet; notes when they are answered. */
  function requests(): JournalEntry[] {
    const asked = control.journal.list(nextIndex).filter(({ endpoint }) => endpoint === 'token');
    for (const entry of asked)
      if (entry.status !== null && !answeredAt.has(entry)) answeredAt.set(entry, Date.now());
    return asked;
  }

  function judge(life: Life, diedAtMs: number): void {
    for (const entry of requests()) {
      const { user, status } = entry;
      if (user === null || entry.index < (connectedFrom.get(user) ?? 0)) continue;
      if (status === 400) {
        if (!inDoubt.has(user) && !refused.has(user))
          faults.push(`${user} is lost, but its process had the time to store the pair: ${life.stderr()}`);
        refused.add(user);
      }
      inDoubt.delete(user);
      if (status === 400 || (answeredAt.get(entry) ?? diedAtMs) + storedWithinMs <= diedAtMs) continue;
      inDoubt.add(user);
      underWay += 1;
    }
    nextIndex = control.journal.nextIndex;
  }

  const times = (name: string) => losses.filter((lost) => lost === name).length;
  const told = (kind: string, name: string) =>
    new Set(bridge.output().match(RegExp(`"${name}/\\d+/authorization-${kind}/[^"]+"`, 'g'))).size;

  async function connectRefused(): Promise<void> {
    // A slow machine takes longer to connect them than tokens live otherwise.
    control.change({ accessTokenLifetimeSeconds: 60 });
    await Promise.all([...refused].map(connectAgain));
  }
  async function connectAgain(name: string): Promise<void> {
    losses.push(name);
    const isTold = () => told('required', name) === times(name);
    await until(`word of ${name}, which is stopped`, isTold, { withinMs: renewedWithinMs });
    connectedFrom.set(name, control.journal.nextIndex);
    await bridge.connectAgain(name);
    refused.delete(name);
  }

  /** @param rest what happens to the process after the first request for a token */
  async function live(
    { due, lateMs = 0, probability = 1, lifeSeconds = shortSeconds }: Tokens,
    rest: (life: Life) => Promise<unknown>,
  ): Promise<void> {
    const life = bridge.run();
    if (refused.size >= connectedTogether) await connectRefused();
    const from = control.journal.nextIndex;
    const late = { endpoint: 'token', kind: 'delay', delayMs: lateMs, probability } as const;
    const fault = control.faults.add(late);
    control.change({ accessTokenLifetimeSeconds: lifeSeconds });
    for (const name of due) control.expireAccessTokens(name);
    const isAsked = () => requests().some(({ index }) => index >= from);
    await until('a token request', isAsked, { withinMs: 60_000, everyMs: 1 });
    await rest(life);
    const diedAtMs = Date.now();
    life.child.kill('SIGKILL');
    const { exitCode } = await life.ended;
    if (exitCode !== null) faults.push(`ended by itself with ${exitCode}: ${life.stderr()}`);
    // What it had sent may arrive after its death.
    await sleep(50);
    judge(life, diedAtMs);
    control.faults.remove(fault);
  }

  /** The service is at once or late; the process dies before the answer, or in the milliseconds in which it is stored. */
  async function kill(): Promise<void> {
    const kind = random();
    const lateMs = kind < 0.2 ? Math.floor(random() * 300) : 0;
    const diesAfterMs = random() * (kind < 0.2 ? lateMs + 20 : kind < 0.8 ? 10 : 300);
    const due = [1, 2, 3].map(() => pick(random, names));
    await live({ due, lateMs }, () => sleep(diesAfterMs));
  }

  async function wait(forMs: number): Promise<void> {
    await live({ due: names, lateMs: 12_000, probability: 0.5, lifeSeconds: 60 }, async ({ child }) => {
      await sleep(random() * 300);
      if (forMs > 0) child.kill('SIGSTOP');
      await sleep(forMs);
      child.kill('SIGCONT');
      // For the requests that are not sent yet.
      await sleep(storedWithinMs);
      const areAnswered = () => requests().every(({ status }) => status !== null);
      await until('all answers', areAnswered, { withinMs: 30_000 });
      await sleep(2 * storedWithinMs);
    });
  }

  try {
    control.change({ assumptions: { onlyNewestRefreshToken: true } });
    nextIndex = control.journal.nextIndex;
    for (let index = 0; index < kills; index += 1) {
      while (weather.made() < (changes * (index + 1)) / kills) weather.change();
      const turn = Math.floor(index / livesPerPatience) % frozenMs.length;
      await (index % livesPerPatience === 5 ? wait(frozenMs[turn] as number) : kill());
    }
    // Each account refreshes once more, which shows what is lost.
    await live({ due: names, lifeSeconds: 3_600 }, async ({ startedAtMs }) => {
      const isAnswered = (name: string) =>
        refused.has(name) ||
        requests().some(
          ({ user, arrivedAtMs, status }) => user === name && status && arrivedAtMs > startedAtMs,
        );
      await until('a refresh of each account', () => names.every(isAnswered), { withinMs: 60_000 });
      await sleep(2 * storedWithinMs);
    });
    const life = bridge.run();
    await connectRefused();
    await stopLife(life);
    // A witness for those that are gone.
    for (const name of names) {
      const isThere = ({ id, status }: AdvertTruth) => status !== null && weather.touched.has(id);
      control.setStatus(control.truth(name).find(isThere)?.id ?? '', 'active');
    }
    const idle = bridge.run(['--until-idle']);
    const end = await endWithin(idle, 120_000);
    if (end?.exitCode !== 0) faults.push(`the last run: exit code ${end?.exitCode}: ${idle.stderr()}`);
    if (!end) return { faults, summary: 'the last run did not end' };
    for (const name of names) {
      const [stops, ends] = ['required', 'restored'].map((kind) => told(kind, name));
      if (stops !== times(name) || ends !== stops)
        faults.push(
          `${name} was lost ${times(name)} times, but told as stopped ${stops}, as restored ${ends} times`,
        );
    }
    const { faults: found, summary } = await checkBridge(bridge, weather.touched, { stops: true });
    return {
      faults: [...faults, ...found],
      summary: `${kills} lives, at whose end ${underWay} pairs were under way: ${losses.length} lost, told and connected again; ${summary}`,
    };
  } catch (error) {
    return { faults: [...faults, (error as Error).message], summary: 'it came to no end' };
  } finally {
    await bridge.remove();
  }
}
