/**
 * Every name that somebody outside one file relies on: other teams, dashboards, the command line, the stack.
 * Nothing here may change without a release note; `infra`, `functions` and `cli` all import it from here.
 */

/** Of the stack that this repository deploys, and of its bridge. */
export const stackName = 'AdvertBridge';

/** `source` of every event on the bus. */
export const eventSource = 'advert-bridge';

/**
 * What the fixed names of a bridge begin with, so that bridges in one AWS account and region share none: its own name. Bridges had
 * no name at first; `AdvertBridge` keeps the names of those.
 */
export const namePrefixOf = (bridgeName: string): string =>
  bridgeName === stackName ? eventSource : bridgeName;

/** What subscribers put in the `detail-type` of a rule. Additions only. */
export const detailTypes = {
  statusChanged: 'AdvertStatusChanged',
  unavailable: 'AdvertUnavailable',
  authorizationRequired: 'PartnerAuthorizationRequired',
  authorizationRestored: 'PartnerAuthorizationRestored',
} as const;

/** Of the orders feed, which is assumed: they may change until the service has published it. */
export const orderDetailTypes = {
  statusChanged: 'OrderStatusChanged',
  unavailable: 'OrderUnavailable',
} as const;

/** Version of the shape of `detail`; the minor number rises with each addition. */
export const schemaVersion = '1.0';

export const outputs = {
  eventBusName: 'EventBusName',
  eventBusArn: 'EventBusArn',
  queueUrl: 'QueueUrl',
  deadLetterQueueUrl: 'DeadLetterQueueUrl',
  feedStateTableName: 'FeedStateTableName',
  advertStatusTableName: 'AdvertStatusTableName',
  drainFunctionName: 'DrainFunctionName',
  fanOutFunctionName: 'FanOutFunctionName',
  refreshTokenFunctionName: 'RefreshTokenFunctionName',
  connectFunctionName: 'ConnectFunctionName',
  /** Only with the setting `auditSample`. */
  auditFunctionName: 'AuditFunctionName',
  /** The role for people who run `backfill`, `resync` and `audit`. */
  catchUpRoleArn: 'CatchUpRoleArn',
  /** Names of the schedules that invoke the functions, in the default schedule group. */
  drainScheduleName: 'DrainScheduleName',
  refreshTokenScheduleName: 'RefreshTokenScheduleName',
  /** Only with the setting `auditSample`. */
  auditScheduleName: 'AuditScheduleName',
  /** Of the bridge, which its fixed names carry. */
  bridgeName: 'BridgeName',
  partnerBaseUrl: 'PartnerBaseUrl',
  /** Of Advert Bridge, as in package.json, when the stack was deployed. */
  version: 'Version',
  /** What to run after a deployment: the CDK prints the outputs at its end. */
  doctor: 'Doctor',
} as const;

export interface SecretNames {
  readonly application: string;
  readonly partnerAccountPrefix: string;
}

/** @param prefix see {@link namePrefixOf} */
export const secretNamesOf = (prefix: string): SecretNames => ({
  application: `${prefix}/application`,
  partnerAccountPrefix: `${prefix}/partner-accounts/`,
});

/** Of the bridge `AdvertBridge`; also what messages of an embedded bridge call its secrets. */
export const secretNames = secretNamesOf(eventSource);

/** Whether `text`, a message, is about the secret of a bridge's application, or about those of partner accounts. */
export const isAboutSecret = (text: string, secret: keyof SecretNames): boolean =>
  (secret === 'application' ? /\bsecret \S+\/application\b/ : /\bsecret \S+\/partner-accounts\//).test(text);

export const metricsNamespace = 'AdvertBridge';

/** Metrics are for the bridge as a whole: one per partner account would cost $0.30 a month each. */
export const metrics = {
  /** Seconds since the feed that waited longest was last read to its end; once a drain run. */
  feedLagSeconds: 'FeedLagSeconds',
  /** Partner accounts that wait for a person; once a drain run, while there are any. */
  stoppedPartnerAccounts: 'StoppedPartnerAccounts',
  listed: 'Listed',
  events: 'Events',
  unchanged: 'Unchanged',
  coalesced: 'Coalesced',
  unavailable: 'Unavailable',
  /** Of the two above, those of a change that was listed more than five minutes before ({@link lateAfterSeconds}). */
  lateEvents: 'LateEvents',
  deadLettered: 'DeadLettered',
  /** Messages put aside, outside the queue, until their partner account may be polled again. */
  parked: 'Parked',
  /** Deliveries beyond the first of a message. */
  redelivered: 'Redelivered',
  /** Cursors that the service rejected, so that reading started over from a time. */
  cursorResets: 'CursorResets',
  /** Faults that only a person can mend: wrong client secret, wrong base URL, a cursor that does not move. */
  needsAttention: 'NeedsAttention',
  /** The circuit opened: the service blocked this address. */
  circuitOpened: 'CircuitOpened',
  /** The service asked for a longer pause than `maxPauseSeconds`. */
  pauseCapped: 'PauseCapped',
  /** Adverts found by the daily audit whose latest event does not say what the service says; each quarter of an hour. */
  auditDifferences: 'AuditDifferences',
} as const;

export type MetricName = (typeof metrics)[keyof typeof metrics];

/**
 * A feed that was not read to its end for longer raises `NoSuccessfulDrain`, and `status` names it: five polls, at the
 * longest `pollSeconds`.
 */
export const maxLagSeconds = 300;

/** An event later than this after the feed listed its change counts as late. */
export const lateAfterSeconds = 300;

/** Alarm names are also the headings of docs/operate/runbook.md (a test keeps that). */
export const alarms = {
  deadLetters: 'DeadLetters',
  noSuccessfulDrain: 'NoSuccessfulDrain',
  partnerAccountStopped: 'PartnerAccountStopped',
  needsAttention: 'NeedsAttention',
  pauseCapped: 'PauseCapped',
  functionErrors: 'FunctionErrors',
  /** Only with the setting `auditSample`. */
  auditDifferences: 'AuditDifferences',
} as const;

/** What an alarm is called in a bridge, such as `FunctionErrors-FanOut`; undefined for one that is not of this bridge. */
export function alarmOfBridge(alarmName: string, bridgeName: string): string | undefined {
  const rest = alarmName.startsWith(`${bridgeName}-`) ? alarmName.slice(bridgeName.length + 1) : '';
  // A bridge `Shop-2` beside `Shop` has other headings after `Shop-`.
  return Object.values(alarms).some((heading) => `${rest}-`.startsWith(`${heading}-`)) ? rest : undefined;
}
