import type { Clock } from '../../domain/clock.ts';
import { earlyMs } from './slot-supply.ts';

/** A timer that is later than this was stalled, which says nothing about the next one. */
const maxLagMs = 500;

/** Calls `wake` when a slot comes. */
export class SlotTimer {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #isSet = false;
  /** How late the last timer was. */
  #lagMs = 0;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Does nothing while it is set already. */
  set(slotMs: number, now: number): void {
    if (this.#isSet) return;
    this.#isSet = true;
    // On a busy machine every timer is late: it is set earlier by as much, or each slot would be missed.
    const sleepMs = Math.max(earlyMs, slotMs - now - this.#lagMs);
    void this.#clock.sleep(sleepMs).then(() => {
      this.#isSet = false;
      this.#lagMs = Math.min(maxLagMs, Math.max(0, this.#clock.now() - now - sleepMs - earlyMs));
      this.#wake();
    });
  }
}
