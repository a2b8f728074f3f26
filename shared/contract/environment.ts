/**
 * The environment of the functions: `infra` writes it, `shared/runtime/config.ts` alone reads it.
 */
import * as v from 'valibot';
import { bridgeSettings, partnerBaseUrl } from './settings.ts';

/** Environment key of each value; all functions use the same keys, each only those it needs. */
export const environmentKeys = {
  partnerBaseUrl: 'PARTNER_BASE_URL',
  pollSeconds: 'POLL_SECONDS',
  maxRequestsPerSecond: 'MAX_REQUESTS_PER_SECOND',
  requiredScope: 'REQUIRED_SCOPE',
  acceptLanguage: 'ACCEPT_LANGUAGE',
  overlapSeconds: 'OVERLAP_SECONDS',
  confirmUnavailableSeconds: 'CONFIRM_UNAVAILABLE_SECONDS',
  circuitSeconds: 'CIRCUIT_SECONDS',
  maxPauseSeconds: 'MAX_PAUSE_SECONDS',
  busName: 'EVENT_BUS_NAME',
  queueUrl: 'QUEUE_URL',
  deadLetterQueueUrl: 'DEAD_LETTER_QUEUE_URL',
  feedStateTable: 'FEED_STATE_TABLE',
  advertStatusTable: 'ADVERT_STATUS_TABLE',
  refreshTokenFunction: 'REFRESH_TOKEN_FUNCTION',
  /** Resource policy of partner accounts' secrets, as JSON: who may read them. */
  partnerSecretPolicy: 'PARTNER_SECRET_POLICY',
} as const;

const filled = v.pipe(v.string(), v.minLength(1, 'expected a value'));

const common = {
  partnerBaseUrl,
  maxRequestsPerSecond: bridgeSettings.maxRequestsPerSecond,
  requiredScope: bridgeSettings.requiredScope,
  acceptLanguage: bridgeSettings.acceptLanguage,
  circuitSeconds: bridgeSettings.circuitSeconds,
  maxPauseSeconds: bridgeSettings.maxPauseSeconds,
  feedStateTable: filled,
} as const;

/** What each function needs, and nothing that it does not. */
export const functionEnvironments = {
  drain: v.object({
    ...common,
    pollSeconds: bridgeSettings.pollSeconds,
    overlapSeconds: bridgeSettings.overlapSeconds,
    queueUrl: filled,
    deadLetterQueueUrl: filled,
    refreshTokenFunction: filled,
  }),
  fanOut: v.object({
    ...common,
    confirmUnavailableSeconds: bridgeSettings.confirmUnavailableSeconds,
    advertStatusTable: filled,
    busName: filled,
    queueUrl: filled,
    deadLetterQueueUrl: filled,
    refreshTokenFunction: filled,
  }),
  refreshToken: v.object({
    ...common,
    busName: filled,
  }),
  connect: v.object({
    ...common,
    overlapSeconds: bridgeSettings.overlapSeconds,
    advertStatusTable: filled,
    busName: filled,
    partnerSecretPolicy: filled,
  }),
} as const;

export type FunctionName = keyof typeof functionEnvironments;
export type FunctionEnvironment<N extends FunctionName> = v.InferOutput<(typeof functionEnvironments)[N]>;
