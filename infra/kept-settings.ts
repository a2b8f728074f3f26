import { CfnParameter, CfnRule, Fn, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import type { StackSettings } from '../shared/contract/settings.ts';

const emptyTable =
  'go on with another table: what the bridge knows of adverts and partner accounts would be missing';

/** Settings that a deployment must not omit by mistake, and what it would do without them. */
const keptSettings = {
  busName: 'delete the event bus, with every rule that subscribers have on it',
  alarmEmail: 'delete the topic of the alarms and the subscription of their receiver',
  feedStateTable: emptyTable,
  advertStatusTable: emptyTable,
  alarmTopicArn: 'send the alarms to that topic no more',
} as const satisfies Partial<Record<keyof StackSettings, string>>;

/** Value of the parameter if the setting is not given. */
const notGiven = 'none';

/**
 * Makes CloudFormation reject a deployment, before it changes anything, if one of these settings differs from the
 * deployed value. Each setting has a parameter with its name. On an update, `cdk deploy` keeps the stack's value of a
 * parameter that the command line does not name, and a rule compares this value with the new setting.
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
