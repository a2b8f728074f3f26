/** All names on which other teams, dashboards, the command line or the stack rely. A change here needs a release note. */

/** Name of the stack that this repository deploys, and of its bridge. */
export const stackName = 'AdvertBridge';

/** `source` of every event on the bus. */
export const eventSource = 'advert-bridge';

/** Prefix of a bridge's fixed names: its own name, except that `AdvertBridge` keeps its prefix from before bridges had one. */
export const namePrefixOf = (bridgeName: string): string =>
  bridgeName === stackName ? eventSource : bridgeName;

/** The inverse of {@link namePrefixOf}: no bridge is named like the prefix (settings.ts). */
export const bridgeNameOf = (namePrefix: string): string =>
  namePrefix === eventSource ? stackName : namePrefix;

/** What subscribers put in the `detail-type` of a rule. Additions only. */
export const detailTypes = {
  statusChanged: 'AdvertStatusChanged',
  unavailable: 'AdvertUnavailable',
  authorizationRequired: 'PartnerAuthorizationRequired',
  authorizationRestored: 'PartnerAuthorizationRestored',
} as const;

/** Version of the shape of `detail`; the minor number rises with each addition. */
export const schemaVersion = '1.1';

export const outputs = {
  eventBusName: 'EventBusName',
  eventBusArn: 'EventBusArn',
  customEventBusArn: 'CustomEventBusArn',
  queueUrl: 'QueueUrl',
  deadLetterQueueUrl: 'DeadLetterQueueUrl',
  feedStateTableName: 'FeedStateTableName',
  advertStatusTableName: 'AdvertStatusTableName',
  drainFunctionName: 'DrainFunctionName',
  fanOutFunctionName: 'FanOutFunctionName',
  refreshTokenFunctionName: 'RefreshTokenFunctionName',
  connectFunctionName: 'ConnectFunctionName',
  /** The role for people who run `backfill`, `resync` and `audit`. */
  catchUpRoleArn: 'CatchUpRoleArn',
  /** Names of the schedules that invoke the functions, in the default schedule group. */
  drainScheduleName: 'DrainScheduleName',
  refreshTokenScheduleName: 'RefreshTokenScheduleName',
  /** Name of the bridge, which is part of its fixed names. */
  bridgeName: 'BridgeName',
  partnerBaseUrl: 'PartnerBaseUrl',
  /** Version of Advert Bridge (package.json) with which the stack was deployed. */
  version: 'Version',
  /** The command to run after a deployment; the CDK prints it with the outputs. */
  doctor: 'Doctor',
} as const;

export type SecretNames = ReturnType<typeof secretNamesOf>;

/** @param prefix see {@link namePrefixOf} */
export const secretNamesOf = (prefix: string) => ({
  application: `${prefix}/application`,
  partnerAccountPrefix: `${prefix}/partner-accounts/`,
});

/** Names of the secrets of the bridge `AdvertBridge`; messages of an embedded bridge use them too. */
export const secretNames = secretNamesOf(eventSource);

export const metricsNamespace = 'AdvertBridge';

/** Metrics are for the bridge as a whole: one per partner account would cost $0.30 a month each. */
export const metrics = {
  /** Seconds since the feed that waited longest was last read to its end; emitted once per drain run. */
  feedLagSeconds: 'FeedLagSeconds',
  /** Partner accounts that need manual reauthorization; emitted once per drain run, only when non-zero. */
  stoppedPartnerAccounts: 'StoppedPartnerAccounts',
  listed: 'Listed',
  events: 'Events',
  unchanged: 'Unchanged',
  coalesced: 'Coalesced',
  unavailable: 'Unavailable',
  /** The part of the two counts above whose change was listed more than {@link lateAfterSeconds} earlier. */
  lateEvents: 'LateEvents',
  deadLettered: 'DeadLettered',
  /** Dead letters that there are, at most a thousand; emitted once per drain run, only when non-zero. */
  deadLetters: 'DeadLetters',
  /** Messages that were put aside until the hold of their partner account, or of the bridge, ends. */
  held: 'Held',
  /** Repeated deliveries of messages (all but the first). */
  redelivered: 'Redelivered',
  /** Cursors that the service rejected, so that the drain started over from a time. */
  cursorResets: 'CursorResets',
  /** Whatever needs manual action, such as a wrong client secret, a cursor that does not move, or a circuit that opens. */
  needsAttention: 'NeedsAttention',
  /** The circuit opened: the service blocked this address, or an account of it. */
  circuitOpened: 'CircuitOpened',
  /** How long each answer about an advert took. Not those of a feed, for which it would cost $0.30 in a month without changes. */
  answerMs: 'AnswerMs',
  /** Answers to all functions, by status; those with 2xx are only in the metric above. */
  answers429: 'Answers429',
  answers403: 'Answers403',
  /** Those with 3xx, too. */
  answers4xx: 'Answers4xx',
  answers5xx: 'Answers5xx',
  answersNone: 'AnswersNone',
  /** Events that an audit caused: the latest event of these adverts differed from the service. */
  auditDifferences: 'AuditDifferences',
} as const;

export type MetricName = (typeof metrics)[keyof typeof metrics];

/** A feed that was not read to its end for longer raises `NoSuccessfulDrain`: five polls at the longest `pollSeconds`. */
export const maxLagSeconds = 300;

/** An event counts as late if it is published later than this after the feed listed its change. */
export const lateAfterSeconds = 300;

export const storeKeys = { partitionKey: 'pk', sortKey: 'sk' } as const;

/**
 * The kinds of rows in the {@link Store}, each with its table. The kind is the partition key, so that functions are
 * granted kinds, and the row's name the sort key.
 */
export const tableOfKind = {
  /** By partner account: holds, refresh lock, token version and expiry. */
  account: 'feedState',
  /** By account `/` feed: cursor, since, lease, listed. */
  feed: 'feedState',
  /** By account `/` generation: the counted outcomes. */
  books: 'feedState',
  /** `budget`: next free slot, holds; `activity`: answers of the service by the minute. */
  bridge: 'feedState',
  /** By account `/` generation `/` operation: how far a backfill or an audit is. */
  progress: 'feedState',
  /** By account `/` generation `/` ID of a process `/` number: what an audit found, beside its progress. */
  found: 'feedState',
  /** By account `/` number: a message on hold, outside the queue. */
  aside: 'feedState',
  /** By account `/` hash of the message's key: a dead letter. */
  dead: 'feedState',
  /** By account `/` generation `/` advert ID: the latest event of an advert. */
  history: 'advertStatus',
} as const;
export type Kind = keyof typeof tableOfKind;
export type TableName = (typeof tableOfKind)[Kind];
