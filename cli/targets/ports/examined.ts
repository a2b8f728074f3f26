import type { Check } from '../../../operations/doctor.ts';
import type { Status } from '../../../operations/status.ts';
import type { AcceptedApplication } from '../../../shared/contract/connect.ts';

/** What `doctor` asks of a bridge, whichever kind it is. Nothing of it changes the bridge. */
export interface Examined {
  /** What has to be right for this kind of bridge alone. */
  readonly checks: readonly Check[];
  /** @throws {SkippedError} where it cannot be read before something else is mended */
  readonly status: () => Promise<Status>;
  /**
   * Asks the service for a token of the application, which is kept nowhere. Called only while nothing is paused.
   *
   * @throws {PartnerError | CommandError} when the service refuses the stored credentials
   */
  readonly askService: () => Promise<AcceptedApplication>;
}
