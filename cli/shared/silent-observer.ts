import type { Observer } from '../../shared/ports/observer.ts';

/** For commands that tell their outcome themselves. */
export const silentObserver: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};
