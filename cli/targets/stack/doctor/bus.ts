import {
  DescribeEventBusCommand,
  type EventBridgeClient,
  ListArchivesCommand,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  type Rule,
} from '@aws-sdk/client-eventbridge';
import { allPages, pagesOf } from '../../../../operations/ask.ts';
import { check, type Finding, fault, ok, together, warning } from '../../../../operations/doctor.ts';
import { forEachConcurrent } from '../../../../shared/domain/for-each-concurrent.ts';
import type { Facts } from './facts.ts';

/** Number of concurrent requests about rules. */
const rulesAtOnce = 5;
/** Statements of infra/constructs/event-bus.ts. */
const ownStatements = /^(Accounts|Organization)(Make|Manage)Rules$/;

export const busChecks = ({ clients: { events }, bridge }: Facts) => [
  check('bus-policy', async () => {
    const { eventBusName: Name } = (await bridge()).outputs;
    const { Policy } = await events.send(new DescribeEventBusCommand({ Name }));
    return policyFinding(Name, Policy);
  }),
  check('subscribers', async () => {
    const { eventBusName } = (await bridge()).outputs;
    const rules = await rulesOf(events, eventBusName);
    if (rules.length === 0) {
      return warning(
        `there is no rule on bus ${eventBusName}: nobody gets the events`,
        'A team subscribes as in docs/subscribe/guide.md',
      );
    }
    const findings: Finding[] = [];
    await forEachConcurrent(rules, rulesAtOnce, async (rule) => {
      findings.push(await ruleFinding(events, eventBusName, rule));
    });
    return together(`${rules.length} rules are enabled and have targets`, findings);
  }),
  check('archive', async () => {
    const { eventBusArn } = (await bridge()).outputs;
    const { Archives = [] } = await events.send(new ListArchivesCommand({ EventSourceArn: eventBusArn }));
    if (Archives.some(({ State }) => State === 'ENABLED' || State === 'UPDATING' || State === 'CREATING')) {
      return ok('events are archived');
    }
    return warning(
      'no event is archived, so none can be replayed',
      `\`aws events create-archive --archive-name adverts --event-source-arn ${eventBusArn} --retention-days 90\``,
    );
  }),
];

/** Without the archive's rules, which AWS manages itself. */
async function rulesOf(events: EventBridgeClient, EventBusName: string): Promise<Rule[]> {
  const pages = pagesOf((NextToken) => events.send(new ListRulesCommand({ EventBusName, NextToken })));
  const all = await allPages(pages, ({ Rules }) => Rules);
  return all.filter(({ ManagedBy, Name }) => !ManagedBy && !Name?.startsWith('Events-Archive-'));
}

async function ruleFinding(
  events: EventBridgeClient,
  EventBusName: string,
  { Name, State }: Rule,
): Promise<Finding> {
  if (State === 'DISABLED') {
    return warning(
      `rule ${Name} is disabled: its team gets no events`,
      `\`aws events enable-rule --name ${Name} --event-bus-name ${EventBusName}\``,
    );
  }
  const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: Name, EventBusName }));
  if (Targets.length > 0) return ok(`${Name}`);
  return warning(
    `rule ${Name} has no target`,
    `Its team gives it one: \`aws events put-targets --rule ${Name} --event-bus-name ${EventBusName} …\``,
  );
}

interface Statement {
  readonly Sid?: string;
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Action?: string | readonly string[];
  readonly Condition?: unknown;
}

function policyFinding(bus: string, policy: string | undefined): Finding {
  if (!policy) return ok('only this AWS account may put rules on the bus');
  const { Statement: statements = [] } = JSON.parse(policy) as { Statement?: Statement | Statement[] };
  return together(
    'other AWS accounts may keep rules of their own, and nothing else',
    [statements].flat().map((statement) => statementFinding(bus, statement)),
  );
}

function statementFinding(
  bus: string,
  { Sid = '', Effect, Principal, Action = [], Condition }: Statement,
): Finding {
  if (Effect !== 'Allow') return ok(Sid);
  const mend = `\`aws events remove-permission --event-bus-name ${bus} --statement-id ${Sid}\``;
  const actions = [Action].flat();
  if (JSON.stringify(Principal ?? '').includes('"*"') && Condition === undefined) {
    return fault(`statement ${Sid} of the bus policy lets every AWS account ${actions.join(', ')}`, mend);
  }
  if (actions.some((action) => /^(\*|events:(\*|Put\*|PutEvents))$/.test(action))) {
    return fault(`statement ${Sid} of the bus policy lets others publish in the bridge's name`, mend);
  }
  return ownStatements.test(Sid)
    ? ok(Sid)
    : warning(`statement ${Sid} of the bus policy is not of the stack`, mend);
}
