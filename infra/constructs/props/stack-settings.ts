/**
 * Every setting of a stack, described once. From here come the properties of `AdvertBridge` (settings.generated.ts) and the
 * table of docs/operate/deploy.md, both written by `npm run generate`.
 */
import * as v from 'valibot';
import { stackName } from '../../../shared/contract/names.ts';
import {
  bridgeSettings,
  listSetting,
  matching,
  partnerBaseUrl,
  type Schemas,
  type Setting,
  textSetting,
  wholeSetting,
} from '../../../shared/contract/settings.ts';

const tableName = matching(/^[\w.-]{3,255}$/, 'expected the name of a DynamoDB table');
const busKinds = ['classic', 'custom'] as const;
const expectedBuses = "expected 'classic', 'custom' or both, each once";
const awsAccount = matching(/^\d{12}$/, 'expected 12-digit AWS account IDs');

export const stackSettings = {
  partnerBaseUrl: textSetting(
    'https URL of the partner service (plain http only for loopback)',
    partnerBaseUrl,
  ),
  stackName: textSetting(
    'name of the stack, and part of every fixed name in it; a second bridge in the same AWS account and region needs a different one, and a different `busName`',
    v.optional(
      matching(
        /^(?!advert-bridge$)[A-Za-z][A-Za-z0-9-]{0,63}$/,
        'expected a name of 1 to 64 letters, digits and hyphens, beginning with a letter, other than advert-bridge',
      ),
      stackName,
    ),
  ),
  ...bridgeSettings,
  busName: textSetting(
    'name of the event bus that the bridge creates, of either kind',
    v.optional(
      matching(
        /^(?!default$|aws\.)[A-Za-z0-9._-]{1,256}$/,
        'expected the name of a bus of its own: letters, digits, ".", "_", "-"',
      ),
      'adverts',
    ),
  ),
  eventBuses: {
    type: 'buses',
    says: 'on which kinds of event bus the bridge publishes: with rules and an archive (`classic`), in order and with a history to begin from (`custom`), or on both',
    schema: v.optional(
      v.pipe(
        v.array(v.picklist(busKinds, expectedBuses), expectedBuses),
        v.minLength(1, expectedBuses),
        v.check((kinds) => new Set(kinds).size === kinds.length, expectedBuses),
      ),
      ['classic'],
    ),
    range: '`classic`, `custom` or `classic,custom`',
  },
  subscriberAccounts: listSetting(
    'AWS accounts whose teams may subscribe to the bus that the bridge creates; at most 90',
    v.optional(
      v.pipe(
        v.array(awsAccount, "expected a list such as ['111111111111', '222222222222']"),
        // The policy of a bus may have 10 KB, and it contains each account twice.
        v.maxLength(90, 'expected at most 90 AWS account IDs; organizationId is for more'),
      ),
      [],
    ),
  ),
  organizationId: textSetting(
    'ID of an AWS organization, such as `o-a1b2c3d4e5`: teams in all of its accounts may subscribe to that bus',
    v.optional(matching(/^o-[a-z0-9]{10,32}$/, 'expected an organization ID such as o-a1b2c3d4e5')),
  ),
  feedStateTable: textSetting(
    'a restored table to use instead of the feed-state table',
    v.optional(tableName),
  ),
  advertStatusTable: textSetting(
    'a restored table to use instead of the advert-status table',
    v.optional(tableName),
  ),
  alarmEmail: textSetting(
    'email address that receives the alarms, through a topic that the bridge creates, with a KMS key for $1 a month',
    v.optional(v.pipe(v.string(), v.email('expected an email address'))),
  ),
  alarmTopicArn: textSetting(
    "an existing SNS topic, such as a pager's, that receives every alarm and its end; its policy, and its key if it is encrypted, must allow CloudWatch to publish",
    v.optional(
      matching(
        /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/,
        'expected the ARN of an SNS topic, such as arn:aws:sns:eu-central-1:111111111111:pager',
      ),
    ),
  ),
  backlogAlarmSeconds: wholeSetting(
    'seconds that a changed advert may wait in the queue before an alarm goes off',
    {
      // By default twice as long as the pause after a blocked address, and as long as the longest pause.
      from: 60,
      to: 86_400,
      unit: 'seconds',
      standard: 3600,
    },
  ),
  runbookUrl: textSetting(
    'address of the runbook to which the alarms lead, without `#`; the default is its path in the package',
    v.optional(
      matching(/^[^\s#]{1,200}$/, 'expected an address without spaces and #'),
      'advert-bridge/docs/operate/runbook.md',
    ),
  ),
  schemaRegistry: {
    type: 'boolean',
    says: "whether the events' schemas are in a schema registry of EventBridge; without one in regions that are known to have none",
    schema: v.optional(v.boolean('expected true or false'), true),
    range: '`true` or `false`',
  },
  dashboard: {
    type: 'boolean',
    says: 'whether there is a CloudWatch dashboard, for $3 a month',
    schema: v.optional(v.boolean('expected true or false'), false),
    range: '`true` or `false`',
  },
  target: {
    type: 'target',
    says: '`emulator` omits resource types that a local emulator does not support',
    schema: v.optional(v.picklist(['aws', 'emulator'], 'expected aws or emulator'), 'aws'),
    range: '`aws` or `emulator`',
  },
} as const satisfies Record<string, Setting>;

export type StackSettings = v.InferOutput<v.ObjectSchema<Schemas<typeof stackSettings>, undefined>>;
