import { expect, it } from 'vitest';
import { takersText } from '../../../../operators/console/page/format.ts';

const rule = { name: 'search', state: 'enabled' };

it.each([
  [[], null, 'no rule on the bus: nobody gets the events'],
  [null, [], 'no subscriber on the bus: nobody gets the events'],
  [[], [], 'no rule and no subscriber on the bus: nobody gets the events'],
  [[], [{ name: 'billing', state: 'stopped' }], 'subscribers on the bus: billing (stopped)'],
  [[rule], [{ name: 'new', state: 'running' }], 'rules on the bus: search; subscribers on the bus: new'],
  [null, null, undefined],
])('the console names who gets the events when %j and %j take them', (rules, subscribers, text) => {
  expect(takersText(rules, subscribers)).toBe(text);
});
