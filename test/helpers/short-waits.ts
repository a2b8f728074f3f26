import { vi } from 'vitest';
import { systemClock } from '../../shared/domain/clock.ts';

/** Has whatever waits by the system clock wait for a fraction of the time, until the end of the test. */
export function shortenWaits(factor: number): void {
  const { sleep } = systemClock;
  vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => sleep(ms / factor, signal));
}

/** Has the system clock go so far ahead of the machine's from now on, until the end of the test. */
export function jumpAhead(ms: number): void {
  vi.spyOn(systemClock, 'now').mockImplementation(() => Date.now() + ms);
}
