/**
 * The environment variables of the functions: the settings as JSON, and a variable for the name of each resource.
 * `infra` writes them; only `functions/runtime/config.ts` reads them.
 */
import * as v from 'valibot';
import type { FunctionSettings } from './settings.ts';

export const settingsKey = 'SETTINGS';

const filled = v.pipe(v.string(), v.minLength(1, 'expected a value'));

const common = { feedStateTable: filled, namePrefix: filled } as const;
const history = { advertStatusTable: filled } as const;
/** One of them, or both (functions/runtime/deps.ts). */
const buses = { eventBusName: v.optional(filled), customEventBusArn: v.optional(filled) } as const;
const queue = { queueUrl: filled, refreshTokenFunction: filled } as const;

/** The resources of each function. */
export const functionResources = {
  drain: v.object({ ...common, ...queue, ...history }),
  fanOut: v.object({ ...common, ...queue, ...history, ...buses }),
  refreshToken: v.object({ ...common, ...buses }),
  connect: v.object({
    ...common,
    ...history,
    ...buses,
    /** Resource policy of partner accounts' secrets, as JSON: who may read them. */
    partnerSecretPolicy: filled,
    /** ARN of the KMS key of these secrets; if absent, Secrets Manager's own key is used. */
    partnerSecretKey: v.optional(filled),
  }),
} as const;

export type FunctionName = keyof typeof functionResources;
export type FunctionConfig<N extends FunctionName> = FunctionSettings &
  v.InferOutput<(typeof functionResources)[N]>;

export type ResourceName = {
  [N in FunctionName]: keyof (typeof functionResources)[N]['entries'];
}[FunctionName];

/** Name of the environment variable of a resource: `queueUrl` is in `QUEUE_URL`. */
export const resourceKeys = Object.fromEntries(
  Object.values(functionResources)
    .flatMap(({ entries }) => Object.keys(entries))
    .map((name) => [name, name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()]),
) as Readonly<Record<ResourceName, string>>;
