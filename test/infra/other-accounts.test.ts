import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contradictionsOf, patternsOf } from '../../infra/constructs/subscription/subscription-pattern.ts';
import { SearchStack } from '../docs/subscription.ts';
import '../docs/subscription-elsewhere.ts';
import { aFilter } from '../helpers/subscriptions.ts';
import { inShort, synthesized } from '../helpers/synthesized.ts';

describe('docs/subscribe/cdk.md', () => {
  it('shows a subscription that can be synthesized', () => {
    Template.fromStack(new SearchStack(new App(), 'Search')).resourceCountIs('AWS::Events::Rule', 1);
  });
});

describe('a subscriber in another AWS account', () => {
  const bridge = synthesized({ subscriberAccounts: '222222222222', busName: 'adverts' });
  const [make, manage] = ['AccountsMakeRules', 'AccountsManageRules'].map((sid) => {
    const statements = bridge
      .ofType('AWS::Events::EventBusPolicy')
      .map(([, { Properties }]) => Properties.Statement);
    return statements.find(({ Sid }) => Sid === sid);
  });

  it('asks for rules that the policy of the bridge allows, whatever its filter', () => {
    const { 'ForAllValues:StringEquals': allowed, Null: needed } = make.Condition;
    expect(needed).toEqual({ 'events:source': 'false', 'events:detail-type': 'false' });
    const filters = fc.sample(aFilter, 60).filter((filter) => contradictionsOf(filter).length === 0);
    for (const { source = [], 'detail-type': types } of filters.flatMap(patternsOf)) {
      expect([source, types].every((values) => values.length > 0)).toBe(true);
      expect(allowed['events:source']).toEqual(expect.arrayContaining([...source]));
      expect(allowed['events:detail-type']).toEqual(expect.arrayContaining([...types]));
    }
  });

  it('may do with its rules what CloudFormation has to do with them', () => {
    const actions = [make, manage].flatMap(({ Action }) => Action);
    const needed = [
      'PutRule',
      'DescribeRule',
      'PutTargets',
      'RemoveTargets',
      'ListTargetsByRule',
      'DeleteRule',
    ];
    expect(actions).toEqual(
      expect.arrayContaining([...needed, 'TagResource', 'UntagResource'].map((action) => `events:${action}`)),
    );
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of CloudFormation.
    expect(inShort(make.Resource)).toMatch('rule/${EventsBus}/*');
  });
});
