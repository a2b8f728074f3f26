import type { Clock } from '../../domain/clock.ts';
import { earlyMs } from './slot-supply.ts';

/** A longer delay means that the process was stalled, which does not predict the next delay. */
const maxLagMs = 500;

/** Calls `wake` at the time of a slot. */
export class SlotTimer {
  readonly #clock: Clock;
  readonly #wake: () => void;
  #isSet = false;
  /** Delay of the last timer. */
  #lagMs = 0;

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock;
    this.#wake = wake;
  }

  /** Does nothing if the timer is already set. */
  set(slotMs: number, now: number): void {
    if (this.#isSet) return;
    this.#isSet = true;
    // On a busy machine every timer is late, so it is set earlier by the last delay; otherwise each slot would be
    // missed.
    const sleepMs = Math.max(earlyMs, slotMs - now - this.#lagMs);
    void this.#clock.sleep(sleepMs).then(() => {
      this.#isSet = false;
      this.#lagMs = Math.min(maxLagMs, Math.max(0, this.#clock.now() - now - sleepMs - earlyMs));
      this.#wake();
    });
  }
}
