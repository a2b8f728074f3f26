import type { PollDeps } from '../functions/drain/accept-page.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { Bridge } from './bridge.ts';

/** For reading a feed as the drain does. @param command begins the name of the lease's holder */
export async function pollDepsOf(
  bridge: Omit<Bridge, 'functions'>,
  command: string,
): Promise<PollDeps & Pick<Bridge, 'deadLetters'>> {
  const { feedStates, queue, deadLetters, clock, newId } = bridge;
  const { overlapSeconds, maxRequestsPerSecond } = await bridge.settings();
  return {
    ...{ feedStates, queue, deadLetters, clock, newId },
    reader: await bridge.service(),
    observer: silentObserver,
    holder: `${command} ${newId()}`,
    settings: { overlapSeconds, maxRequestsPerSecond, leaseMs: 90_000, maxWaiting: 10_000 },
  };
}

/** An observer that logs nothing, for commands that report their outcome themselves. */
export const silentObserver: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};
