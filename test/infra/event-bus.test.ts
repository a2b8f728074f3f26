// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation and variables of IAM.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contradictionsOf, patternsOf } from '../../infra/constructs/subscription/subscription-pattern.ts';
import { aFilter } from '../helpers/subscriptions.ts';
import { inShort, type Synthesized, synthesized } from '../helpers/synthesized.ts';

const alone = synthesized({ busName: 'marketplace' });
const open = synthesized({
  subscriberAccounts: '111111111111,222222222222,111111111111',
  organizationId: 'o-a1b2c3d4e5',
});

const crowded = synthesized({
  subscriberAccounts: Array.from({ length: 95 }, (_, index) => 100_000_000_000 + index).join(),
  organizationId: 'o-a1b2c3d4e5',
});

const statements = ({ ofType }: Synthesized) =>
  ofType('AWS::Events::EventBusPolicy').map(([, { Properties }]) => Properties.Statement);
const rules = 'arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:rule/${EventsBus}/*';
const own = { 'events:creatorAccount': '${aws:PrincipalAccount}' };

describe('the bus', () => {
  it('has the set name, and an archive of everything the bridge publishes', () => {
    const bus = alone.one('AWS::Events::EventBus');
    expect(bus.Properties.Name).toBe('marketplace');
    expect(alone.one('AWS::Events::Archive').Properties).toMatchObject({
      SourceArn: { 'Fn::GetAtt': [bus.id, 'Arn'] },
      EventPattern: { source: ['advert-bridge'] },
      RetentionDays: 90,
    });
  });

  it('has no policy when no subscriber is set', () => {
    expect(statements(alone)).toEqual([]);
  });
});

describe('the policy of the bus', () => {
  it('allows the named accounts to create rules for events of the bridge only', () => {
    const make = statements(open).find(({ Sid }) => Sid === 'AccountsMakeRules');
    expect(inShort(make)).toEqual({
      Sid: 'AccountsMakeRules',
      Effect: 'Allow',
      Principal: {
        AWS: ['arn:${AWS::Partition}:iam::111111111111:root', 'arn:${AWS::Partition}:iam::222222222222:root'],
      },
      Action: 'events:PutRule',
      Resource: rules,
      Condition: {
        StringEqualsIfExists: own,
        'ForAllValues:StringEquals': {
          'events:source': ['advert-bridge'],
          'events:detail-type': [
            'AdvertStatusChanged',
            'AdvertUnavailable',
            'PartnerAuthorizationRequired',
            'PartnerAuthorizationRestored',
          ],
        },
        Null: { 'events:source': 'false', 'events:detail-type': 'false' },
      },
    });
  });

  it('allows the organization by its ID', () => {
    const ofOrganization = statements(open).filter(({ Sid }) => Sid.startsWith('Organization'));
    expect(ofOrganization).toHaveLength(2);
    for (const { Principal, Condition } of ofOrganization) {
      expect(Principal).toEqual({ AWS: '*' });
      expect(Condition.StringEquals).toEqual({ 'aws:PrincipalOrgID': 'o-a1b2c3d4e5' });
    }
  });

  it('allows everybody only rules of their own, and no publishing', () => {
    for (const statement of statements(open)) {
      expect(statement.Condition.StringEqualsIfExists).toEqual(own);
      expect(inShort(statement.Resource)).toBe(rules);
      expect([statement.Action].flat()).not.toContain('events:PutEvents');
    }
    const targets = statements(open).filter(({ Action }) => Action.includes('events:PutTargets'));
    expect(targets.map(({ Condition }) => inShort(Condition['ForAllValues:ArnLike']))).toEqual([
      { 'events:TargetArn': 'arn:${AWS::Partition}:*:*:${aws:PrincipalAccount}:*' },
      { 'events:TargetArn': 'arn:${AWS::Partition}:*:*:${aws:PrincipalAccount}:*' },
    ]);
    // What CloudFormation needs for a rule.
    const ofRules = ['PutRule', 'DescribeRule', 'DeleteRule', 'TagResource', 'UntagResource'];
    const ofTargets = ['PutTargets', 'RemoveTargets', 'ListTargetsByRule'];
    expect(statements(open).flatMap(({ Action }) => Action)).toEqual(
      expect.arrayContaining([...ofRules, ...ofTargets].map((action) => `events:${action}`)),
    );
  });

  it('allows the rules of any subscription of the construct', () => {
    const [make] = statements(open);
    const allowed = make.Condition['ForAllValues:StringEquals'];
    const filters = fc.sample(aFilter, 60).filter((filter) => contradictionsOf(filter).length === 0);
    for (const { source = [], 'detail-type': types } of filters.flatMap(patternsOf)) {
      expect([source, types].every((values) => values.length > 0)).toBe(true);
      expect(allowed['events:source']).toEqual(expect.arrayContaining([...source]));
      expect(allowed['events:detail-type']).toEqual(expect.arrayContaining([...types]));
    }
  });

  it('has at most 10 KB with the maximum number of accounts', () => {
    const policy = JSON.stringify(statements(crowded).map(inShort));
    const asDeployed = policy.replaceAll('${AWS::Partition}', 'aws-us-gov');

    expect(asDeployed.length).toBeLessThan(10_240);
  });
});
