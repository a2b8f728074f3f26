/**
 * Checks `service-not-hammered`: the rate over any window, and that pauses hold for every process. Also checks
 * `nobody-delays-another`: one forbidden advert does not count as a blocked address.
 */
import type { WireRequest } from '../../../shared/partner-api/transport.ts';
import type { Model } from '../model/model.ts';
import type { Process } from './process.ts';
import { nameOf } from './users.ts';

interface Pause {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Time until the process that was asked to wait has stored the pause, if it does not stand still. */
const tellingMs = 200;
/** A process's view of the store is at most a second old, and the store's answer took some milliseconds. */
const graceMs = 1_100;
/** Longer than an answer takes to arrive and a pause takes to be stored, also if the process stands still for a minute. */
const underWayMs = 75_000;
/** The rate limiter rounds, and a `Date` header has whole seconds. */
const roundingMs = 1_000;

export function createTrafficWatch({ plan, scheduler, history }: Model) {
  const starts: number[] = [];
  /** Resources that answered 403 to a request without a cursor, and when they last did. */
  const forbidden = new Map<string, number>();
  /** When a process last could not store a pause. */
  const unable = new Map<Process, number>();
  let pause: Pause = { fromMs: 0, untilMs: 0 };
  let isBlocked = false;
  /** When the circuit last opened or closed: much earlier answers do not affect its next change. */
  let turnedMs = Number.NEGATIVE_INFINITY;
  let endedByPersonMs = Number.NEGATIVE_INFINITY;
  let onlyOneMs = Number.NEGATIVE_INFINITY;

  return {
    started(process: Process, { path }: WireRequest): void {
      // The rate over all processes is only defined if their clocks agree.
      if (plan.maxSkewMs > 0 || plan.offClock) return;
      const now = scheduler.now();
      const allowed = Math.ceil(plan.requestsPerSecond);
      const earlier = starts.at(-allowed);
      starts.push(now);
      if (earlier !== undefined && now - earlier < 1_000) {
        const message = `${allowed + 1} requests within ${now - earlier} ms, where ${allowed} a second are allowed`;
        history.violated({ invariant: 'service-not-hammered', message });
      }
      if (isBlocked || now <= pause.fromMs + graceMs || now >= pause.untilMs) return;
      const message = `${process.name} sent ${path} ${now - pause.fromMs} ms after the service had asked for a pause, which has ${pause.untilMs - now} ms to go`;
      history.violated({ invariant: 'service-not-hammered', message });
    },
    /**
     * The service named a time. It counts if the process that got the answer lived to store it, and could store it.
     */
    askedToWait(process: Process, ms: number): void {
      const askedMs = scheduler.now();
      const untilMs = askedMs + Math.min(ms, 1_000 * plan.maxPauseSeconds) - roundingMs;
      const told = (): void => {
        if (process.frozenMs() > 0) return void scheduler.after(process.frozenMs() + tellingMs, told);
        const isStored = !process.isDead() && (unable.get(process) ?? 0) < askedMs;
        // A person may have ended the pause just after it was stored.
        if (turnedMs >= askedMs || !isStored || untilMs <= pause.untilMs) return;
        pause = { fromMs: scheduler.now(), untilMs };
      };
      scheduler.after(tellingMs, told);
    },
    pauseNotStored: (process: Process): void => void unable.set(process, scheduler.now()),
    answeredForbidden: (resource: string): void => void forbidden.set(resource, scheduler.now()),
    /** The number of connected accounts, as the bridge knows it. */
    connected(number: number | undefined): void {
      if (number === 1) onlyOneMs = scheduler.now();
    },
    /** From now on, single requests are sent as trials. */
    circuitOpened(): void {
      const since = [...forbidden].filter(([, atMs]) => atMs >= turnedMs - underWayMs);
      const accounts = new Set(since.map(([resource]) => nameOf(resource.split(' ')[0] ?? '')));
      // One failed trial is enough to open it again, even a trial that was under way when a person closed it.
      const isTrial = isBlocked || scheduler.now() - endedByPersonMs < underWayMs;
      const expected = isTrial ? 1 : 2;
      isBlocked = true;
      turnedMs = scheduler.now();
      // A process may not know yet that another account has been connected.
      const isOnly = scheduler.now() - onlyOneMs < underWayMs;
      const isOfFeed = (path: string) => path.includes('/status/');
      const isOfKinds = new Set(since.map(([resource]) => isOfFeed(resource))).size > 1;
      if (since.length >= expected && (isTrial || accounts.size > 1 || (isOnly && isOfKinds))) return;
      const what = since.length === 0 ? 'nothing' : `only ${since.map(([resource]) => resource).join()}`;
      const message = `the circuit opened although ${what} answered 403 to a request without a cursor`;
      history.violated({ invariant: 'nobody-delays-another', message });
    },
    /** A success closes the circuit, and ends every pause. */
    circuitClosed(): void {
      isBlocked = false;
      turnedMs = scheduler.now();
      pause = { fromMs: 0, untilMs: 0 };
    },
    circuitEndedByPerson(): void {
      this.circuitClosed();
      endedByPersonMs = scheduler.now();
    },
  };
}
