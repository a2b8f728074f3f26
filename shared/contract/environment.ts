/**
 * The environment of the functions: `infra` writes it, `shared/runtime/config.ts` alone reads it.
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
  /** What the bridge's fixed names begin with. A function that a deployment is just changing may not have it yet. */
  namePrefix: v.optional(filled, eventSource),
} as const;

/** What each function needs, and nothing else: settings, which `infra` passes on by their names, and names of resources. */
export const functionEnvironments = {
  drain: v.object({
    ...common,
    pollSeconds: bridgeSettings.pollSeconds,
    feeds: bridgeSettings.feeds,
    overlapSeconds: bridgeSettings.overlapSeconds,
    tracing: bridgeSettings.tracing,
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
    /** ARN of the KMS key of these secrets; without it that of Secrets Manager. */
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

/** The environment variable of each value: `pollSeconds` is in `POLL_SECONDS`. */
export const environmentKeys = Object.fromEntries(
  Object.values(functionEnvironments)
    .flatMap(({ entries }) => Object.keys(entries))
    .map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()]),
) as Readonly<Record<EnvironmentName, string>>;
