/** Written by `npm run generate` from stack-settings.ts. */

/** What a bridge reads, how often, which events it publishes, and to whom. */
export interface AdvertBridgeSettings {
  /**
   * Https URL of the partner service (plain http only for loopback).
   */
  readonly partnerBaseUrl: string;
  /**
   * Seconds between two polls of a feed; below 60, one scheduled run polls several times, which costs more Lambda time.
   * 1 to 60.
   *
   * @default 60
   */
  readonly pollSeconds?: number;
  /**
   * Request rate of the whole bridge, all functions together.
   * 0.1 to 100000.
   *
   * @default 10
   */
  readonly maxRequestsPerSecond?: number;
  /**
   * Scope that a partner account must grant.
   *
   * @default v2 read write
   */
  readonly requiredScope?: string;
  /**
   * Language of the service's answers, such as `pl`.
   *
   * @default - none
   */
  readonly acceptLanguage?: string;
  /**
   * How many seconds before the last success the drain starts over after a rejected cursor; must exceed the delay after which a change is visible in the feed.
   * 10 to 86400.
   *
   * @default 300
   */
  readonly overlapSeconds?: number;
  /**
   * Seconds after a "not found" until the bridge fetches the advert again, before it publishes it as unavailable; `0`: no second fetch.
   * 0 to 900.
   *
   * @default 30
   */
  readonly confirmUnavailableSeconds?: number;
  /**
   * Seconds after the feed listed a change until the bridge believes that the status is still the published one; before, it fetches the advert once more; `0`: believed at once.
   * 0 to 900.
   *
   * @default 10
   */
  readonly confirmUnchangedSeconds?: number;
  /**
   * Seconds without requests after the service has blocked the address of the bridge, until one request tries again.
   * 1 to 86400.
   *
   * @default 1800
   */
  readonly circuitSeconds?: number;
  /**
   * The longest pause in seconds that the bridge accepts from `Retry-After`; a longer one raises an alarm.
   * 1 to 86400.
   *
   * @default 3600
   */
  readonly maxPauseSeconds?: number;
  /**
   * Paths in an advert, such as `title,price.value`, whose values its events contain in `data.fields`; at most 50.
   *
   * @default - none
   */
  readonly eventFields?: readonly string[];
  /**
   * To publish less: an event is published only if an advert enters or leaves one of these statuses.
   *
   * @default - none
   */
  readonly publishStatuses?: readonly string[];
  /**
   * To publish less: only events about adverts of these partner accounts are published.
   *
   * @default - none
   */
  readonly publishPartnerAccounts?: readonly string[];
  /**
   * How many published adverts of each partner account are fetched again a day, and published if they differ; `0`: none.
   * 0 to 100000.
   *
   * @default 0
   */
  readonly auditSample?: number;
  /**
   * Name of the event bus that the bridge creates, of either kind.
   *
   * @default adverts
   */
  readonly busName?: string;
  /**
   * On which kinds of event bus the bridge publishes: with rules and an archive (`classic`), in order and with a history to begin from (`custom`), or on both.
   * `classic`, `custom` or `classic,custom`.
   *
   * @default classic
   */
  readonly eventBuses?: readonly ('classic' | 'custom')[];
  /**
   * AWS accounts whose teams may subscribe to the bus that the bridge creates; at most 90.
   *
   * @default - none
   */
  readonly subscriberAccounts?: readonly string[];
  /**
   * ID of an AWS organization, such as `o-a1b2c3d4e5`: teams in all of its accounts may subscribe to that bus.
   *
   * @default - none
   */
  readonly organizationId?: string;
  /**
   * A restored table to use instead of the feed-state table.
   *
   * @default - none
   */
  readonly feedStateTable?: string;
  /**
   * A restored table to use instead of the advert-status table.
   *
   * @default - none
   */
  readonly advertStatusTable?: string;
  /**
   * Email address that receives the alarms, through a topic that the bridge creates, with a KMS key for $1 a month.
   *
   * @default - none
   */
  readonly alarmEmail?: string;
  /**
   * Seconds that a changed advert may wait in the queue before an alarm goes off.
   * 60 to 86400.
   *
   * @default 3600
   */
  readonly backlogAlarmSeconds?: number;
  /**
   * Address of the runbook to which the alarms lead, without `#`; the default is its path in the package.
   *
   * @default advert-bridge/docs/operate/runbook.md
   */
  readonly runbookUrl?: string;
  /**
   * Whether the events' schemas are in a schema registry of EventBridge; without one in regions that are known to have none.
   * `true` or `false`.
   *
   * @default true
   */
  readonly schemaRegistry?: boolean;
  /**
   * Whether there is a CloudWatch dashboard, for $3 a month.
   * `true` or `false`.
   *
   * @default false
   */
  readonly dashboard?: boolean;
  /**
   * `emulator` omits resource types that a local emulator does not support.
   * `aws` or `emulator`.
   *
   * @default aws
   */
  readonly target?: 'aws' | 'emulator';
}
