/**
 * The environment variables of the functions. `infra` writes them; only `shared/runtime/config.ts` reads them.
 */
import * as v from 'valibot';
import { eventSource } from './names.ts';
import { bridgeSettings, partnerBaseUrl } from './settings.ts';

const filled = v.pipe(v.string(), v.minLength(1, 'expected a value'));

const common = {
  partnerBaseUrl,
  maxRequestsPerSecond: bridgeSettings.maxRequestsPerSecond,
  requiredScope: bridgeSettings.requiredScope,
  acceptLanguage: bridgeSettings.acceptLanguage,
  circuitSeconds: bridgeSettings.circuitSeconds,
  maxPauseSeconds: bridgeSettings.maxPauseSeconds,
  feedStateTable: filled,
  /** Prefix of the bridge's fixed names. During a deployment, a function may not have this variable yet. */
  namePrefix: v.optional(filled, eventSource),
} as const;

/**
 * Exactly the values that each function needs: settings, which `infra` passes on under their names, and names of
 * resources.
 */
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
    eventFields: bridgeSettings.eventFields,
    publishStatuses: bridgeSettings.publishStatuses,
    publishPartnerAccounts: bridgeSettings.publishPartnerAccounts,
    advertStatusTable: filled,
    eventBusName: filled,
    queueUrl: filled,
    deadLetterQueueUrl: filled,
    refreshTokenFunction: filled,
  }),
  refreshToken: v.object({
    ...common,
    eventBusName: filled,
  }),
  connect: v.object({
    ...common,
    overlapSeconds: bridgeSettings.overlapSeconds,
    advertStatusTable: filled,
    eventBusName: filled,
    /** Resource policy of partner accounts' secrets, as JSON: who may read them. */
    partnerSecretPolicy: filled,
    /** ARN of the KMS key of these secrets; if absent, Secrets Manager's own key is used. */
    partnerSecretKey: v.optional(filled),
  }),
  audit: v.object({
    ...common,
    overlapSeconds: bridgeSettings.overlapSeconds,
    auditSample: bridgeSettings.auditSample,
    advertStatusTable: filled,
    queueUrl: filled,
    refreshTokenFunction: filled,
  }),
} as const;

export type FunctionName = keyof typeof functionEnvironments;
export type FunctionEnvironment<N extends FunctionName> = v.InferOutput<(typeof functionEnvironments)[N]>;

export type EnvironmentName = {
  [N in FunctionName]: keyof (typeof functionEnvironments)[N]['entries'];
}[FunctionName];

/** Name of the environment variable of a value: `pollSeconds` is in `POLL_SECONDS`. */
export const environmentKeys = Object.fromEntries(
  Object.values(functionEnvironments)
    .flatMap(({ entries }) => Object.keys(entries))
    .map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()]),
) as Readonly<Record<EnvironmentName, string>>;
