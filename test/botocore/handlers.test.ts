/** The functions as Lambda runs them, over buses that check each call against AWS's models (buses.py). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type PlayedAws, startAws } from '../helpers/aws/played-aws.ts';
import { until } from '../helpers/until.ts';
import { pythonWithBotocore } from './python.ts';

const clock = await vi.hoisted(async () => {
  const { createSleptClock } = await import('../helpers/aws/slept-clock.ts');
  return createSleptClock();
});
vi.mock('../../shared/domain/clock.ts', async (original) => ({
  ...(await original<object>()),
  systemClock: clock,
}));

const python = pythonWithBotocore();
const arn = `arn:aws:events:us-east-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
const kinds = ['classic', 'custom'] as const;
type Bus = (typeof kinds)[number];

interface Fault {
  readonly bus: Bus;
  readonly kind: 'throttle' | '500' | 'denied' | 'entry' | 'reset' | 'accept-reset';
  readonly times: number;
  /** Of `entry`; default: each. */
  readonly entries?: readonly number[];
}

interface Seen {
  readonly accepted: readonly {
    readonly bus: Bus;
    readonly arn: string;
    readonly group: string | null;
    readonly type: string;
    readonly detail: string;
  }[];
  readonly deduplicated: readonly string[];
  readonly wrong: readonly string[];
  readonly calls: readonly { readonly bus: Bus; readonly entries: number }[];
}

function stub(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

describe.skipIf(!python)('the functions on both buses', () => {
  let service: ChildProcess;
  let url: string;
  let aws: PlayedAws;

  async function control(wish: { readonly faults?: readonly Fault[]; readonly reset?: boolean } = {}) {
    const answer = await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify(wish) });
    return (await answer.json()) as Seen;
  }
  /** IDs of the events that a bus has accepted, in order, of an advert or of all. */
  const idsOn = ({ accepted }: Seen, bus: Bus, advert = '') =>
    accepted
      .filter((event) => event.bus === bus)
      .map(({ detail }) => JSON.parse(detail).metadata.eventId as string)
      .filter((id) => id.includes(advert && `/${advert}/`));
  /** Goes on with batches, for a message that was given back, until each bus has accepted so many different events. */
  const fanOutUntil = (events: number) =>
    until(`${events} events on each bus`, async () => {
      await aws.fanOut();
      const seen = await control();
      return kinds.every((bus) => new Set(idsOn(seen, bus)).size === events) ? seen : undefined;
    });

  beforeAll(async () => {
    service = spawn(`${python}`, [`${import.meta.dirname}/buses.py`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: service.stdout as NonNullable<ChildProcess['stdout']> });
    [url] = (await once(lines, 'line')) as [string];
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    aws = await startAws({
      setEnvironment: stub,
      environment: {
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_ENDPOINT_URL_EVENTBRIDGE: url,
        AWS_ENDPOINT_URL_EVENTBRIDGEV2: url,
        CUSTOM_EVENT_BUS_ARN: arn,
      },
      settings: { maxRequestsPerSecond: 1000, confirmUnavailableSeconds: 0 },
    });
  });
  // Each handler reads them when it is loaded, which is when a test first needs it.
  beforeEach(() => {
    stub(aws.environment);
    for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
  });
  afterEach(async () => {
    expect((await control({ reset: true })).wrong).toEqual([]);
  });
  afterAll(async () => {
    await aws.stop();
    service.kill();
  });

  async function drain() {
    clock.pass(60_000);
    return aws.ask('drain');
  }

  it('both buses get each event once and alike, the custom bus in order', async () => {
    const { control: partner } = aws.sandbox;
    const ids = partner.createAdverts(12, { status: 'new' });
    for (const status of ['active', 'limited']) {
      await drain();
      await aws.fanOut();
      for (const id of ids) partner.setStatus(id, status);
    }
    await drain();
    const seen = await fanOutUntil(36);

    const detailsOn = (bus: Bus) =>
      seen.accepted.filter((event) => event.bus === bus).map(({ detail }) => detail);
    expect(detailsOn('custom')).toHaveLength(36);
    expect([...detailsOn('classic')].sort()).toEqual([...detailsOn('custom')].sort());
    for (const id of ids)
      expect(idsOn(seen, 'custom', id).map((eventId) => eventId.split('/').at(-1))).toEqual(['1', '2', '3']);
    expect(new Set(seen.accepted.map(({ arn }) => arn))).toEqual(new Set(['adverts', arn]));
    expect(new Set(seen.accepted.map(({ group }) => group))).toEqual(
      new Set([null, ...ids.map((id) => `AdvertBridge/advert-bridge/main/advert/${id}`)]),
    );
  });

  it.each(kinds)('no event is lost or changed when the %s bus fails in every way', async (bus) => {
    const { control: partner } = aws.sandbox;
    await control({
      faults: [
        { bus, kind: 'throttle', times: 2 },
        { bus, kind: '500', times: 1 },
        { bus, kind: 'entry', entries: [0], times: 3 },
        { bus, kind: 'reset', times: 1 },
        { bus, kind: 'accept-reset', times: 1 },
      ],
    });
    const ids = partner.createAdverts(10, { status: 'new' });
    await drain();
    const seen = await fanOutUntil(10);

    for (const each of kinds) {
      expect(new Set(idsOn(seen, each)).size).toBe(10);
      // The same event each time.
      expect(new Set(seen.accepted.map(({ detail }) => detail)).size).toBe(10);
    }
    expect(idsOn(seen, 'custom')).toHaveLength(10);
    expect(ids.flatMap((id) => idsOn(seen, 'custom', id))).toHaveLength(10);
  });

  it.each([
    ['classic', 'custom'],
    ['custom', 'classic'],
  ] as const)(
    'only refused events come again while the %s bus refuses: %s may repeat',
    async (bus, other) => {
      const { control: partner } = aws.sandbox;
      await control({ faults: [{ bus, kind: 'denied', times: 2 }] });
      const [id = ''] = partner.createAdverts(1, { status: 'new' });
      await drain();
      await aws.fanOut();
      const before = await control();
      expect([idsOn(before, bus), idsOn(before, other)]).toEqual([[], [expect.stringContaining(`/${id}/1`)]]);

      // The advert changes again before the first of its events is on both.
      partner.setStatus(id, 'sold');
      await drain();
      const seen = await fanOutUntil(2);
      const sequences = (on: Bus) => idsOn(seen, on, id).map((eventId) => Number(eventId.split('/').at(-1)));
      expect([...new Set(sequences(bus))]).toEqual([1, 2]);
      expect(sequences('custom')).toEqual([1, 2]);
      expect(sequences('classic').at(-1)).toBe(2);
      if (other === 'custom') expect(seen.deduplicated.length).toBeGreaterThan(0);
      else expect(sequences('classic').length).toBeGreaterThan(2);
    },
  );

  it('ends and returns of an authorization arrive in order despite faults', async () => {
    const { control: partner } = aws.sandbox;
    for (const bus of kinds) await control({ faults: [{ bus, kind: 'accept-reset', times: 1 }] });
    clock.pass(61 * 60_000);
    partner.revoke('main');
    partner.createAdverts(1);
    await drain();
    // What the drain's request left owed, the sweep publishes.
    await aws.ask('refresh-token');
    await control({ faults: [{ bus: 'classic', kind: 'denied', times: 1 }] });
    const request = {
      ...{ action: 'connect', partnerAccount: 'main', sameUser: false },
      refreshToken: partner.issueRefreshToken('main'),
    };
    expect(await aws.ask('connect', request)).toMatchObject({ kind: 'connected' });
    clock.pass(60_000);
    await aws.ask('refresh-token');

    const { accepted, deduplicated } = await control();
    const typesOn = (bus: Bus) => accepted.filter((event) => event.bus === bus).map(({ type }) => type);
    const both = ['PartnerAuthorizationRequired', 'PartnerAuthorizationRestored'];
    expect(typesOn('custom')).toEqual(both);
    expect([...new Set(typesOn('classic'))]).toEqual(both);
    expect(deduplicated.length).toBeGreaterThan(0);
    const groups = accepted.flatMap(({ group }) => group ?? []);
    expect(groups).toEqual(both.map(() => 'AdvertBridge/advert-bridge/main'));
  });
});
