import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { checkedJson } from '../../shared/contract/checks.ts';
import { envelope } from '../../shared/contract/events.ts';
import { metrics } from '../../shared/contract/names.ts';
import { SearchStack } from './subscribe.ts';

const readme = readFileSync('README.md', 'utf8');

describe('the README', () => {
  it('shows a subscription that makes a rule on the bus with a queue behind it', () => {
    const template = Template.fromStack(new SearchStack(new App(), 'Search'));

    template.hasResourceProperties('AWS::Events::Rule', {
      EventBusName: 'adverts',
      EventPattern: {
        source: ['advert-bridge'],
        'detail-type': ['AdvertStatusChanged', 'AdvertUnavailable'],
      },
    });
    template.resourceCountIs('AWS::SQS::QueuePolicy', 2);
  });

  it('shows an event of the contract', () => {
    const [, shown] = /<!-- event -->\n```json\n([\s\S]*?)```/.exec(readme) ?? [];

    expect(checkedJson(envelope, shown ?? '', 'README')).toMatchObject({
      'detail-type': 'AdvertStatusChanged',
    });
  });
});

describe('docs/operate/capacity.md', () => {
  it('says of every metric what it counts', () => {
    const listed = [...readFileSync('docs/operate/capacity.md', 'utf8').matchAll(/^\| (`[A-Z].*?`) \|/gm)];
    const names = listed.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));

    expect(names.sort()).toEqual(Object.values(metrics).sort());
  });
});
