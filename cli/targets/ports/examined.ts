import type { Check } from '../../../operations/doctor.ts';
import type { Status } from '../../../operations/status.ts';
import type { AcceptedApplication } from '../../../shared/contract/connect.ts';

/** What `doctor` needs from a bridge of any kind. None of it changes the bridge. */
export interface Examined {
  /** Checks for this kind of bridge only. */
  readonly checks: readonly Check[];
  /** @throws {SkippedError} if it cannot be read until another fault is fixed */
  readonly status: () => Promise<Status>;
  /**
   * Requests a token of the application from the service, and does not store it. Called only while nothing is paused.
   *
   * @throws {PartnerError | CommandError} if the service rejects the stored credentials
   */
  readonly askService: () => Promise<AcceptedApplication>;
}
