import fc from 'fast-check';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { anAdvertStatusChanged, anAdvertUnavailable } from '../../../../kits/typescript/testing/index.ts';
import { bridgeSettingsSchema } from '../../../../shared/contract/settings.ts';
import {
  copyFields,
  isPublished,
  maxFieldsBytes,
  type PublishedEvents,
} from '../../../../shared/domain/advert-event.ts';

const advert = { title: 'Bike', price: { value: 12.5 }, sold: false, note: null, list: [1] };

it('fields of an event are copied by their paths, as in the answer', () => {
  const { title, price, sold, note, list } = advert;
  expect(copyFields(advert, ['title', 'price.value', 'price', 'sold', 'note', 'list', 'list.0'])).toEqual({
    fields: { title, 'price.value': 12.5, price, sold, note, list, 'list.0': 1 },
  });
});

it('fields that the service leaves out are absent from the event', () => {
  expect(
    copyFields(advert, ['missing', 'title.length', 'price.missing.deep', 'constructor', '__proto__']),
  ).toEqual({});
  for (const odd of [undefined, null, 'text', 7]) expect(copyFields(odd, ['title'])).toEqual({});
});

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
it.each([
  ['had no room', `{"out":"${'y'.repeat(9_000)}","fair":"z"}`],
  ['is nested too deeply to be written as JSON', `{"out":${deep(100_000)},"fair":${deep(32)}}`],
  ['is nested too deeply for some parsers', `{"out":${deep(33)},"fair":1}`],
  ['was rounded when the answer was read', '{"out":{"ids":[9007199254740993]},"fair":9007199254740991}'],
  ['would be published as null', '{"out":[-1e400],"fair":1.5}'],
  ['was cut within an emoji', '{"out":"Bike \\ud83d","fair":"\\u0000\\n\\ud83d\\ude00\\ufffd"}'],
  ['contains a character that SQS refuses', '{"out":{"a\\uffff":1},"fair":"\ufffd"}'],
])('fields of an event name what %s, and go on with the rest', (_case, answer) => {
  const odd = JSON.parse(answer);

  expect(copyFields(odd, ['out', 'fair'])).toEqual({
    fields: { fair: odd.fair },
    fieldsLeftOut: ['out'],
  });
});

it('fields of an event have at most 8 KB in all', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue()), (odd) => {
      const { fields = {} } = copyFields(odd, Object.keys(odd));
      expect(Buffer.byteLength(JSON.stringify(fields))).toBeLessThanOrEqual(maxFieldsBytes);
    }),
  );
});

it('ten events with the longest paths that are set fit into one call', () => {
  const names = Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(64, 'x'));
  const pathsWith = (end: string) => names.map((name) => `${name}.${end}`);
  const [longest, tooLong] = [pathsWith('y'.repeat(35)), pathsWith('y'.repeat(36))];
  const isSettable = (eventFields: string[]) => v.is(bridgeSettingsSchema, { eventFields });
  const answer = names.map((name) => [name, { ['y'.repeat(35)]: 'z'.repeat(8_000) }]);

  expect([isSettable(longest), isSettable(tooLong)]).toEqual([true, false]);
  const copied = JSON.stringify(copyFields(Object.fromEntries(answer), longest));
  expect(Buffer.byteLength(copied)).toBeGreaterThan(13_000);
  // Beside it, an envelope has less than 2 KB.
  expect(10 * (Buffer.byteLength(copied) + 2_048)).toBeLessThan(262_144);
});

it.each<[PublishedEvents, boolean]>([
  [{}, true],
  [{ publishStatuses: ['active'] }, true],
  [{ publishStatuses: ['new'] }, true],
  [{ publishStatuses: ['sold'] }, false],
  [{ publishPartnerAccounts: ['main'] }, true],
  [{ publishPartnerAccounts: ['other'] }, false],
  [{ publishStatuses: ['active'], publishPartnerAccounts: ['other'] }, false],
])('an event that goes from new to active is published with %j: %s', (settings, expected) => {
  const event = anAdvertStatusChanged({ sequence: 2, status: 'active', previousStatus: 'new' });
  const gone = anAdvertUnavailable({ sequence: 3, previousStatus: 'active' });

  expect(isPublished(event, settings)).toBe(expected);
  if (!settings.publishStatuses?.includes('new')) expect(isPublished(gone, settings)).toBe(expected);
});
