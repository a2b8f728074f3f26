// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation and variables of IAM.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contradictionsOf, patternsOf } from '../../infra/constructs/subscription/subscription-pattern.ts';
import { aFilter } from '../helpers/subscriptions.ts';
import { inShort, type Synthesized, synthesized } from '../helpers/synthesized.ts';

const open = synthesized({
  subscriberAccounts: '111111111111,222222222222,111111111111',
  organizationId: 'o-a1b2c3d4e5',
});

const crowded = synthesized({
  subscriberAccounts: Array.from({ length: 90 }, (_, index) => 100_000_000_000 + index).join(),
  organizationId: 'o-a1b2c3d4e5',
});

const statements = ({ ofType }: Synthesized) =>
  ofType('AWS::Events::EventBusPolicy').map(([, { Properties }]) => Properties.Statement);

it('the bus policy allows the rules of any subscription of the construct', () => {
  const make = statements(open).find(({ Sid }) => Sid === 'AccountsMakeRules');
  const allowed = make.Condition['ForAllValues:StringEquals'];
  const filters = fc.sample(aFilter, 60).filter((filter) => contradictionsOf(filter).length === 0);
  for (const { source = [], 'detail-type': types } of filters.flatMap(patternsOf)) {
    expect([source, types].every((values) => values.length > 0)).toBe(true);
    expect(allowed['events:source']).toEqual(expect.arrayContaining([...source]));
    expect(allowed['events:detail-type']).toEqual(expect.arrayContaining([...types]));
  }
});

it('the bus policy stays within 10 KB with the maximum of accounts', () => {
  const policy = JSON.stringify(statements(crowded).map(inShort));
  const roleArn = `arn:aws-us-gov:iam::111111111111:role/${'x'.repeat(100)}`;
  const asDeployed = policy
    .replaceAll('${AWS::Partition}', 'aws-us-gov')
    .replaceAll(/\$\{\w+Role\.Arn\}/g, roleArn);

  expect(asDeployed.length).toBeLessThan(10_240);
});
