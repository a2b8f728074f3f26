import { describe, expect, it } from 'vitest';
import { parseBody, parseEvent, RefusedEventError } from '../../../subscriber/index.ts';
import {
  anAdvertStatusChanged,
  anAdvertUnavailable,
  aPartnerAuthorizationRequired,
  aPartnerAuthorizationRestored,
} from '../../../subscriber/testing/index.ts';

/** A deep copy with `value` put at a path such as `detail.data.status`; `undefined` takes the field away. */
function changed(event: object, place: string, value: unknown): unknown {
  const copy = structuredClone(event);
  const parts = place.split('.');
  const last = parts.pop() as string;
  // biome-ignore lint/suspicious/noExplicitAny: any place of any event.
  const holder = parts.reduce<any>((inner, part) => inner[part], copy);
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

const thrownBy = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe('parseEvent', () => {
  it.each([
    anAdvertStatusChanged(),
    anAdvertUnavailable(),
    aPartnerAuthorizationRequired(),
    aPartnerAuthorizationRestored(),
  ])('accepts $detail-type', (event) => {
    expect(parseEvent(event)).toBe(event);
  });

  it('accepts an event with the fields that EventBridge adds', () => {
    const event = {
      version: '0',
      id: 'a1b2',
      account: '111111111111',
      region: 'eu-central-1',
      ...anAdvertStatusChanged(),
    };

    expect(parseEvent(event)).toEqual(event);
  });

  it('accepts a newer minor version and keeps unknown fields', () => {
    const event = changed(anAdvertStatusChanged({ schemaVersion: '1.7' }), 'detail.data.price', 12);

    expect(parseEvent(event)).toHaveProperty('detail.data.price', 12);
  });

  it.each([
    ['status', 'moderation-2027'],
    ['status', 'Ägypten 🐫'],
    ['status', 'x'.repeat(256)],
    ['cause', 'import'],
  ])('accepts the unknown %s %s', (field, value) => {
    const event = anAdvertStatusChanged({ [field]: value });

    expect(parseEvent(event)).toBe(event);
  });

  it.each(['2.0', '0.9', '10.1'])(
    'rejects the major version of %s by name, whatever its shape',
    (version) => {
      const event = changed(anAdvertStatusChanged({ schemaVersion: version }), 'detail.data', undefined);

      const error = thrownBy(() => parseEvent(event));

      expect(error).toBeInstanceOf(RefusedEventError);
      expect(error).toMatchObject({ code: 'unsupported-version', retryable: false });
      expect(error).toHaveProperty('message', expect.stringContaining('reads 1.x'));
    },
  );

  it.each(['AdvertArchived', 'toString', '__proto__'])(
    'rejects the unknown detail type %s by name',
    (type) => {
      const event = changed(anAdvertStatusChanged(), 'detail-type', type);

      expect(thrownBy(() => parseEvent(event))).toMatchObject({ code: 'unknown-detail-type' });
    },
  );

  it.each([
    ['source', 'aws.s3', 'source: expected advert-bridge'],
    ['detail', undefined, 'detail: missing'],
    ['detail.metadata.schemaVersion', undefined, 'detail.metadata.schemaVersion: missing'],
    ['detail.metadata.schemaVersion', 1, 'detail.metadata.schemaVersion: expected string'],
    ['detail.metadata.sequence', undefined, 'detail.metadata.sequence: missing'],
    ['detail.metadata.sequence', '7', 'detail.metadata.sequence: expected number'],
    ['detail.metadata.sequence', 0, 'detail.metadata.sequence: expected at least 1'],
    ['detail.data.advertId', '../x', 'detail.data.advertId: expected 1 to 20 digits'],
    ['detail.data.status', '', 'detail.data.status: expected 1 to 256 characters'],
    ['detail.data.status', null, 'detail.data.status: expected string'],
    ['detail.data.previousStatus', undefined, 'detail.data.previousStatus: missing'],
  ])('names the fault when %s is %j', (place, value, reason) => {
    const error = thrownBy(() => parseEvent(changed(anAdvertStatusChanged(), place, value)));

    expect(error).toBeInstanceOf(RefusedEventError);
    expect(error).toMatchObject({
      code: 'not-an-event',
      message: `not an event of the advert bridge: ${reason}`,
      retryable: false,
    });
  });

  it.each([null, undefined, 7, 'text', [], {}])('rejects %j', (value) => {
    expect(thrownBy(() => parseEvent(value))).toMatchObject({ code: 'not-an-event' });
  });
});

describe('parseBody', () => {
  it.each(['', 'hello', '{"source":', '[]', 'null', '"text"'])('rejects the body %j', (body) => {
    expect(thrownBy(() => parseBody(body))).toMatchObject({ code: 'not-an-event' });
  });

  it('repeats nothing of what it rejects', () => {
    const error = thrownBy(() => parseBody('{"password": "hunter2"')) as Error;

    expect(`${error.message}${error.stack}${error.cause}`).not.toContain('hunter2');
  });
});
