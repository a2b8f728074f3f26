/**
 * The settings of docs/operate/deploy.md, given as CDK context (`-c key=value` or cdk.json; then everything is a string) or as
 * options of `advert-bridge run`. All of them are checked together, so that one attempt shows every fault.
 */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';
import { stackName } from './names.ts';

/** An absolute https URL without credentials, query or fragment, no slash at its end; plain http for loopback. */
export const partnerBaseUrl = v.pipe(
  v.string('expected the https URL of the partner service, such as https://partner.example'),
  v.check(isBaseUrl, 'expected an https URL such as https://partner.example (plain http only for loopback)'),
  v.transform((url) => url.replace(/\/+$/, '')),
);

function isBaseUrl(text: string): boolean {
  // A URL parser accepts some malformed URLs, and the malformed text would be in every request.
  if (/[?#\s]/.test(text)) return false;
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.search || url.hash) return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && isLoopback(url.hostname);
}

/** Whether the host name of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** A number in [least, most], given as a number or a string. An empty string is a fault, not a zero. */
const numberBetween = (least: number, most: number, what: string) => {
  const expected = `expected ${what} from ${least} to ${most}`;
  return v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.regex(/^\d+(\.\d+)?$/), v.transform(Number))], expected),
    v.minValue(least, expected),
    v.maxValue(most, expected),
  );
};
const wholeBetween = (least: number, most: number, what: string) =>
  v.pipe(numberBetween(least, most, what), v.integer(`expected ${what} from ${least} to ${most}`));

const scope = v.pipe(
  v.string('expected scopes separated by spaces, such as v2 read write'),
  v.regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    'expected scopes separated by single spaces',
  ),
);
const language = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'expected a language such as pl or pt-BR'),
);

const expectedBoolean = 'expected true or false';
/** Given as a boolean or a string. */
const trueOrFalse = v.pipe(
  v.union([v.boolean(), v.picklist(['true', 'false'])], expectedBoolean),
  v.transform((given) => given === true || given === 'true'),
);

const list = <S extends v.GenericSchema<string, string>>(item: S, expected: string) =>
  v.pipe(
    v.union(
      [
        v.pipe(
          v.string(),
          v.transform((text) => text.split(',').map((part) => part.trim())),
        ),
        v.array(v.string()),
      ],
      expected,
    ),
    v.array(item),
  );

/**
 * A list that a function receives as a string in its environment; it must not be empty, because an empty variable
 * counts as missing.
 */
const filledList = (item: v.GenericSchema<string, string>, expected: string) =>
  v.pipe(list(item, expected), v.minLength(1, expected));

const expectedStatuses = 'expected statuses separated by commas';
const statuses = filledList(
  v.pipe(v.string(), v.regex(/^[^,\s]([^,]*[^,\s])?$/, expectedStatuses)),
  expectedStatuses,
);
const expectedPaths = 'expected paths such as title or price.value, separated by commas';
const fieldPaths = v.pipe(
  filledList(v.pipe(v.string(), v.regex(/^[\w-]{1,64}(\.[\w-]{1,64}){0,7}$/, expectedPaths)), expectedPaths),
  v.maxLength(50, 'expected at most 50 paths'),
);

/** Settings that every kind of bridge has. */
export const bridgeSettings = {
  /** Seconds between two polls of a feed. Below 60, one scheduled run polls several times. */
  pollSeconds: v.optional(wholeBetween(1, 60, 'whole seconds'), 60),
  /** Request rate of the whole bridge, all functions together. */
  maxRequestsPerSecond: v.optional(numberBetween(0.1, 100_000, 'requests a second'), 10),
  requiredScope: v.optional(scope, 'v2 read write'),
  acceptLanguage: v.optional(language),
  /**
   * How far a new `since` lies before the moment from which it is computed; must exceed the delay after which a change
   * is visible in the feed (docs/partner-api.md).
   */
  overlapSeconds: v.optional(wholeBetween(10, 86_400, 'whole seconds'), 300),
  /**
   * After a "not found", how long to wait before fetching the advert again and publishing it as unavailable; 0: publish
   * at once.
   */
  confirmUnavailableSeconds: v.optional(wholeBetween(0, 900, 'whole seconds'), 30),
  /** How long the bridge sends nothing after the service has blocked its address; then one trial request follows. */
  circuitSeconds: v.optional(wholeBetween(1, 86_400, 'whole seconds'), 1800),
  /**
   * The longest pause that the bridge accepts from the service (429 or 503 with Retry-After); after it, one request
   * follows.
   */
  maxPauseSeconds: v.optional(wholeBetween(1, 86_400, 'whole seconds'), 3600),
  /** Paths in an advert whose values are copied into its events. */
  eventFields: v.optional(fieldPaths),
  /** Events are published only if an advert enters or leaves one of these statuses. */
  publishStatuses: v.optional(statuses),
  /** Events about adverts are published only for these partner accounts. */
  publishPartnerAccounts: v.optional(
    filledList(partnerAccountName, 'expected names of partner accounts separated by commas'),
  ),
  /** How many adverts of each partner account are compared with the service per day; 0: none. */
  auditSample: v.optional(wholeBetween(0, 100_000, 'a whole number'), 0),
} as const;

const tableName = v.pipe(v.string(), v.regex(/^[\w.-]{3,255}$/, 'expected the name of a DynamoDB table'));

/** Settings of a stack. */
export const stackSettings = v.object({
  partnerBaseUrl,
  /** A second bridge in the same AWS account and region needs a different one, and a different `busName`. */
  stackName: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(?!advert-bridge$)[A-Za-z][A-Za-z0-9-]{0,63}$/,
        'expected a name of 1 to 64 letters, digits and hyphens, beginning with a letter, other than advert-bridge',
      ),
    ),
    stackName,
  ),
  ...bridgeSettings,
  busName: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^(?!default$|aws\.)[A-Za-z0-9._-]{1,256}$/,
        'expected the name of a bus of its own: letters, digits, ".", "_", "-"',
      ),
    ),
    'adverts',
  ),
  /** AWS accounts whose teams may put their own rules on the bus. */
  subscriberAccounts: v.optional(
    v.pipe(
      list(
        v.pipe(v.string(), v.regex(/^\d{12}$/, 'expected 12-digit AWS account IDs')),
        'expected AWS account IDs separated by commas',
      ),
      // The policy of a bus may have 10 KB, and it contains each account twice.
      v.maxLength(100, 'expected at most 100 AWS account IDs; organizationId is for more'),
    ),
    [],
  ),
  organizationId: v.optional(
    v.pipe(v.string(), v.regex(/^o-[a-z0-9]{10,32}$/, 'expected an organization ID such as o-a1b2c3d4e5')),
  ),
  /** Names of restored tables that replace the stack's own tables. */
  feedStateTable: v.optional(tableName),
  advertStatusTable: v.optional(tableName),
  alarmEmail: v.optional(v.pipe(v.string(), v.email('expected an email address'))),
  /** An existing topic, such as a pager's, that receives every alarm and its end. */
  alarmTopicArn: v.optional(
    v.pipe(
      v.string(),
      v.regex(
        /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/,
        'expected the ARN of an SNS topic, such as arn:aws:sns:eu-central-1:111111111111:pager',
      ),
    ),
  ),
  /** Whether the stack has a CloudWatch dashboard, for $3 a month. */
  dashboard: v.optional(trueOrFalse, false),
  /** `emulator` omits resource types that an emulator does not support. */
  target: v.optional(v.picklist(['aws', 'emulator'], 'expected aws or emulator'), 'aws'),
});
export type StackSettings = v.InferOutput<typeof stackSettings>;

/** The settings that the use cases need, in every kind of bridge. */
export type BridgeSettings = v.InferOutput<v.ObjectSchema<typeof bridgeSettings, undefined>>;
