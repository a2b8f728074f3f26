import { CfnParameter, CfnRule, Fn, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { StackSettings } from '../shared/contract/settings.ts';

const emptyTable =
  'go on with another table: what the bridge knows of adverts and partner accounts would be missing';

/** Settings that a deployment must not forget, and what it would do without them. */
const keptSettings = {
  busName: 'delete the event bus, with every rule that subscribers have on it',
  alarmEmail: 'delete the topic of the alarms and the subscription of their receiver',
  feedStateTable: emptyTable,
  advertStatusTable: emptyTable,
  alarmTopicArn: 'send the alarms to that topic no more',
} as const satisfies Partial<Record<keyof StackSettings, string>>;

/** Value of the parameter where the setting is not given. */
const notGiven = 'none';

/**
 * Has CloudFormation refuse, before it changes anything, a deployment that would change one of these settings by
 * forgetting it. Each has a parameter of its name. On an update `cdk deploy` leaves a parameter that the command line does
 * not name at the value that the stack has, and a rule compares that with the setting as it is now.
 *
 * @see docs/decisions/0018-kept-settings.md
 */
export class KeptSettings extends Construct {
  constructor(scope: Construct, id: string, settings: StackSettings) {
    super(scope, id);
    for (const [name, loss] of Object.entries(keptSettings)) {
      const value = settings[name as keyof typeof keptSettings] ?? notGiven;
      const deployed = new CfnParameter(this, name, {
        default: value,
        description: `The setting ${name} of this stack, confirmed: see docs/operate/deploy.md#settings-that-are-confirmed`,
      });
      deployed.overrideLogicalId(name);
      const rule = new CfnRule(this, `${name}Kept`, {
        assertions: [
          {
            assert: Fn.conditionEquals(deployed.valueAsString, value),
            assertDescription:
              `Nothing was changed. The deployed stack has another ${name} than this deployment (${value}), which would ` +
              `${loss}. Deploy with the setting that it has ("aws cloudformation describe-stacks --stack-name ` +
              `${Stack.of(this).stackName}" lists it among its Parameters), or, to change it, add: --parameters ${name}=${value}`,
          },
        ],
      });
      rule.overrideLogicalId(`${name}Kept`);
    }
  }
}
