import { vi } from 'vitest';
import { systemClock } from '../../shared/domain/clock.ts';

/** Has whatever waits by the system clock wait for a fraction of the time, until the end of the test. */
export function shortenWaits(factor: number): void {
  const { sleep } = systemClock;
  vi.spyOn(systemClock, 'sleep').mockImplementation((ms, signal) => sleep(ms / factor, signal));
}
