import { expect, it } from 'vitest';
import { parseBody, parseEvent, RefusedEventError } from '../../../../kits/typescript/index.ts';
import {
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
  aPartnerAuthorizationRestored,
} from '../../../../kits/typescript/testing/index.ts';

// What is accepted and refused, with which code, stands in docs/subscribe/vectors.json, which vectors.test.ts runs.
it.each([
  anAdvertStatusChanged(),
  anAdvertUnavailable(),
  aPartnerAuthorizationRequired(),
  aPartnerAuthorizationRestored(),
  { ...anAdvertStatusChanged({ schemaVersion: '1.7' }), added: 12 },
])('parseEvent returns the very value it was given: $detail-type', (event) => {
  expect(parseEvent(event)).toBe(event);
});

it('parseEvent names the wrong field', () => {
  const { detail, ...envelope } = anAdvertStatusChanged();
  const event = { ...envelope, detail: { ...detail, data: { ...detail.data, advertId: '../x' } } };
  expect(() => parseEvent(event)).toThrow(
    'not an event of the advert bridge: detail.data.advertId: expected 1 to 20 digits',
  );
});

it('parseBody repeats nothing of what it refuses', () => {
  const refused = new RefusedEventError('not-an-event', 'not an event of the advert bridge: expected JSON');

  expect(() => parseBody('{"password": "hunter2"')).toThrow(refused);
});
