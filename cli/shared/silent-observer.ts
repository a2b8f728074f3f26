import type { Observer } from '../../shared/ports/observer.ts';

/** An observer that logs nothing, for commands that report their outcome themselves. */
export const silentObserver: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};
