/**
 * Every setting of a bridge, described once; those of a stack alone are in infra/constructs/props/stack-settings.ts. From
 * here come the options of `advert-bridge run` and the settings in the environment of the functions.
 */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

export interface Setting<S extends v.GenericSchema = v.GenericSchema> {
  readonly type: 'number' | 'string' | 'boolean' | 'list' | 'buses' | 'target';
  readonly says: string;
  /** Checks a value of the type, and contains the default. */
  readonly schema: S;
  /** Which values it can have, where its sentence does not say so. */
  readonly range?: string;
}

interface NumberRange {
  readonly from: number;
  readonly to: number;
  readonly unit: string;
  readonly standard: number;
}

const numberSetting = (says: string, { from, to, unit, standard }: NumberRange, isWhole = false) => {
  const expected = `expected ${unit} from ${from} to ${to}`;
  const schema = v.pipe(
    v.number(({ input }) => (typeof input === 'string' ? `${expected}, as a number, not text` : expected)),
    v.minValue(from, expected),
    v.maxValue(to, expected),
    v.check((value) => !isWhole || Number.isInteger(value), expected),
  );
  return { type: 'number', says, schema: v.optional(schema, standard), range: `${from} to ${to}` } as const;
};

export const wholeSetting = (says: string, range: NumberRange) =>
  numberSetting(says, { ...range, unit: `whole ${range.unit}` }, true);

export const textSetting = <const S extends v.GenericSchema>(says: string, schema: S) =>
  ({ type: 'string', says, schema }) as const;

export const listSetting = <const S extends v.GenericSchema>(says: string, schema: S) =>
  ({ type: 'list', says, schema }) as const;

/** @param example entries as JavaScript has them, for a text or another wrong value instead of a list */
const entries = <const S extends v.GenericSchema<string, string>>(item: S, example: string) =>
  v.pipe(
    v.array(item, `expected a list such as [${example}]`),
    v.minLength(1, `expected a list such as [${example}]`),
  );

export const matching = (pattern: RegExp, expected: string) =>
  v.pipe(v.string(expected), v.regex(pattern, expected));

const exampleUrl = 'https://partner.example';
const expectedUrl = `expected an https URL such as ${exampleUrl} (plain http only for loopback)`;
/** The first that a base URL has is told. */
const urlFlaws: readonly (readonly [flaw: RegExp, expected: string])[] = [
  [/\$\{Token\[/, 'expected a URL that is known at synth, not a token of the CDK'],
  [/\/\/[^/?#]*@/, 'expected a URL without user and password'],
  [/[?#]/, 'expected a URL without a query or fragment'],
  [/\/\/.*\/(api|oauth)(\/|$)/, 'expected a URL without the path of an endpoint, which the bridge adds'],
];

export const partnerBaseUrl = v.pipe(
  v.string(`expected the https URL of the partner service, such as ${exampleUrl}`),
  v.check(isBaseUrl, ({ input }) => urlFlaws.find(([flaw]) => flaw.test(input))?.[1] ?? expectedUrl),
  v.transform((url) => url.replace(/\/+$/, '')),
);

function isBaseUrl(given: string): boolean {
  // A URL parser accepts some malformed URLs, and the malformed text would be in every request.
  return !/\s/.test(given) && !urlFlaws.some(([flaw]) => flaw.test(given)) && isPrivateUrl(given);
}

/** Nobody on the way reads what is sent there: https, or plain http on loopback. It has no user and no password. */
export function isPrivateUrl(given: string): boolean {
  if (!URL.canParse(given)) return false;
  const { protocol, hostname, username, password } = new URL(given);
  return !username && !password && (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname)));
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

const scope = matching(
  /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
  'expected scopes separated by single spaces, such as v2 read write',
);
const language = matching(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'expected a language such as pl or pt-BR');
const status = matching(/^[^,\s]([^,]*[^,\s])?$/, 'expected statuses, without a comma in one');
/** At most 100 characters: an event names each path that it leaves out, and a call takes 256 KB for ten events. */
const fieldPath = matching(
  /^(?=.{1,100}$)[\w-]{1,64}(\.[\w-]{1,64}){0,7}$/,
  'expected paths such as title or price.value, of at most 100 characters',
);

export const bridgeSettings = {
  pollSeconds: wholeSetting(
    'seconds between two polls of a feed; below 60, one scheduled run polls several times, which costs more Lambda time',
    { from: 1, to: 60, unit: 'seconds', standard: 60 },
  ),
  maxRequestsPerSecond: numberSetting('request rate of the whole bridge, all functions together', {
    from: 0.1,
    to: 100_000,
    unit: 'requests a second',
    standard: 10,
  }),
  requiredScope: textSetting('scope that a partner account must grant', v.optional(scope, 'v2 read write')),
  acceptLanguage: textSetting("language of the service's answers, such as `pl`", v.optional(language)),
  overlapSeconds: wholeSetting(
    'how many seconds before the last success the drain starts over after a rejected cursor; must exceed the delay after which a change is visible in the feed',
    { from: 10, to: 86_400, unit: 'seconds', standard: 300 },
  ),
  confirmUnavailableSeconds: wholeSetting(
    'seconds after a "not found" until the bridge fetches the advert again, before it publishes it as unavailable; `0`: no second fetch',
    { from: 0, to: 900, unit: 'seconds', standard: 30 },
  ),
  confirmUnchangedSeconds: wholeSetting(
    'seconds after the feed listed a change until the bridge believes that the status is still the published one; before, it fetches the advert once more; `0`: believed at once',
    { from: 0, to: 900, unit: 'seconds', standard: 10 },
  ),
  circuitSeconds: wholeSetting(
    'seconds without requests after the service has blocked the address of the bridge, until one request tries again',
    { from: 1, to: 86_400, unit: 'seconds', standard: 1800 },
  ),
  maxPauseSeconds: wholeSetting(
    'the longest pause in seconds that the bridge accepts from `Retry-After`; a longer one raises an alarm',
    { from: 1, to: 86_400, unit: 'seconds', standard: 3600 },
  ),
  eventFields: listSetting(
    'paths in an advert, such as `title,price.value`, whose values its events contain in `data.fields`; at most 50',
    v.optional(
      v.pipe(entries(fieldPath, "'title', 'price.value'"), v.maxLength(50, 'expected at most 50 paths')),
    ),
  ),
  publishStatuses: listSetting(
    'to publish less: an event is published only if an advert enters or leaves one of these statuses',
    v.optional(entries(status, "'active', 'sold'")),
  ),
  publishPartnerAccounts: listSetting(
    'to publish less: only events about adverts of these partner accounts are published',
    v.optional(entries(partnerAccountName, "'main', 'second'")),
  ),
  auditSample: wholeSetting(
    'how many published adverts of each partner account are fetched again a day, and published if they differ; `0`: none',
    { from: 0, to: 100_000, unit: 'adverts', standard: 0 },
  ),
} as const satisfies Record<string, Setting>;

type Checkable = Readonly<Record<string, { readonly schema: v.GenericSchema }>>;
export type Schemas<S extends Checkable> = { readonly [K in keyof S]: S[K]['schema'] };

export const schemasOf = <const S extends Checkable>(settings: S): Schemas<S> =>
  Object.fromEntries(Object.entries(settings).map(([name, { schema }]) => [name, schema])) as Schemas<S>;

/** The value of a setting that may be given as text, as on the command line and in CDK context. */
export function fromText({ type }: Setting, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  switch (type) {
    case 'number':
      // An empty text is a fault, not a zero.
      return /^\d+(\.\d+)?$/.test(given) ? Number(given) : Number.NaN;
    case 'boolean':
      return given === 'true' || (given === 'false' ? false : given);
    case 'list':
    case 'buses':
      return given.split(',').map((part) => part.trim());
    case 'string':
    case 'target':
      return given;
  }
}

export const bridgeSettingsSchema = v.object(schemasOf(bridgeSettings));
/** The settings of a function: those of every bridge, and where the partner service is. */
export const functionSettings = v.object({ partnerBaseUrl, ...bridgeSettingsSchema.entries });

export type FunctionSettings = v.InferOutput<typeof functionSettings>;
export type BridgeSettings = v.InferOutput<typeof bridgeSettingsSchema>;
