import { describe, expect, it } from 'vitest';
import { functions, inShort, type Synthesized, synthesized } from '../helpers/synthesized.ts';

const asEver = synthesized({ subscriberAccounts: '111111111111' });
const withOrders = synthesized({ subscriberAccounts: '111111111111', feeds: 'adverts,orders' });

/** The resources of a stack for the orders feed. */
const ofOrders = ({ ofType, one }: Synthesized) => {
  const [policies, schemas] = [
    JSON.stringify(ofType('AWS::Events::EventBusPolicy')),
    ofType('AWS::EventSchemas::Schema'),
  ];
  const { Statement } = one('AWS::IAM::Policy', 'DrainRole').Properties.PolicyDocument;
  const feedItems = Statement.find(({ Sid }: { Sid: string }) => Sid === 'FeedStateFeed');
  return {
    alarms: ofType('AWS::CloudWatch::Alarm')
      .map(([, { Properties }]) => Properties)
      .filter(({ AlarmName }) => JSON.stringify(inShort(AlarmName)).includes('orders'))
      .map(({ Dimensions, MetricName }) => ({ MetricName, Dimensions })),
    schemas: schemas.filter(([, { Properties }]) => Properties.SchemaName.includes('Order')).length,
    isInBusPolicy: policies.includes('OrderStatusChanged'),
    registers: feedItems.Action.includes('dynamodb:PutItem'),
    setting: one('AWS::Lambda::Function', functions.drain).Properties.Environment.Variables.FEEDS,
  };
};

describe('a stack', () => {
  it('has nothing for a feed that is not switched on', () => {
    expect(ofOrders(asEver)).toEqual({
      ...{ alarms: [], schemas: 0, isInBusPolicy: false, registers: false, setting: undefined },
    });
  });

  it('has for one that is an alarm of its own, its schemas, its detail types for rules, and the right to begin it', () => {
    expect(ofOrders(withOrders)).toEqual({
      alarms: [
        {
          MetricName: 'FeedLagSeconds',
          Dimensions: [
            { Name: 'feed', Value: 'orders' },
            { Name: 'service', Value: 'advert-bridge' },
          ],
        },
      ],
      ...{ schemas: 2, isInBusPolicy: true, registers: true, setting: 'adverts,orders' },
    });
  });

  it.each(['orders', 'adverts,parcels', 'adverts,adverts', ''])(
    'refuses feeds=%s, and says what it can be',
    (feeds) => {
      expect(() => synthesized({ feeds })).toThrow(
        /feeds(\.\d)?: expected adverts, alone or with other feeds: adverts,orders/,
      );
    },
  );
});
