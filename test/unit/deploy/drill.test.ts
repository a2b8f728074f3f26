import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FaultPolicy, faultPolicies } from '../../../shared/domain/faults.ts';
import { alarmOf, type Point, stateAt } from '../../deploy/drill/alarm.ts';
import { filledIn, pageOf } from '../../deploy/drill/page.ts';

const runbook = readFileSync('docs/operate/runbook.md', 'utf8');

describe('the runbook, as the drill reads it', () => {
  it('gives each block of commands a name, and each block stands under a heading of the page', () => {
    const { headings, blocks, nameless } = pageOf(runbook);

    expect(nameless, 'no <!-- drill: NAME --> before these').toEqual([]);
    expect(blocks.length).toBeGreaterThan(10);
    expect(headings).toContain('DeadLetters');
    expect(blocks.find(({ name }) => name === 'dead-letters-drop')).toEqual({
      name: 'dead-letters-drop',
      heading: 'DeadLetters',
      text: 'advert-bridge dead-letters drop ID --yes\n',
    });
  });

  it('has no block that nobody could follow', () => {
    expect(pageOf('## A\n\n```sh\nls\n```\n').nameless).toEqual(['ls\n']);
    const twice = '<!-- drill: a -->\n```sh\nls\n```\n';
    expect(() => pageOf(twice + twice)).toThrow('two blocks are named a');
  });

  it('has its words in capitals filled in, and nothing else', () => {
    const block = { name: 'a', heading: undefined, text: 'group=$NAME connect NAME --x MY_NAME NAME-x\n' };

    expect(filledIn(block, { NAME: '$& main' })).toBe('group=$NAME connect $& main --x MY_NAME NAME-x\n');
    expect(() => filledIn(block, { ID: 'x' })).toThrow('the block a has no ID');
  });

  it('says of every fault whether it needs a person, and when its message is given up', () => {
    const givenUp: Readonly<Record<FaultPolicy['deadLettered'], string>> = {
      'at-once': 'the first try',
      'by-tries': 'five tries',
      'by-age': '24 hours',
    };
    const [, section = ''] = runbook.split('\n## Faults\n');
    const rows = [...section.matchAll(/^\| `([\w-]+)` \| .+ \| (yes|no) \| ([\w ]+) \|$/gm)];

    expect(rows.map(([, kind, person, tries]) => [kind, person, tries])).toEqual(
      Object.entries(faultPolicies).map(([kind, { needsAttention, deadLettered }]) => [
        kind,
        needsAttention ? 'yes' : 'no',
        // Its messages go aside, whatever their age (functions/fan-out/fan-out.ts).
        kind === 'operator-paused' ? 'never' : givenUp[deadLettered],
      ]),
    );
  });

  it('says of every fault that needs a person what to do', () => {
    const [, section = ''] = runbook.split('\n## NeedsAttention\n');
    const [causes = ''] = section.split('\n## ');
    const needing = Object.entries(faultPolicies).filter(([, { needsAttention }]) => needsAttention);

    expect(needing.map(([kind]) => kind).filter((kind) => !causes.includes(`\`${kind}\``))).toEqual([]);
  });
});

describe("an alarm's state", () => {
  const alarm = (over: object = {}) =>
    alarmOf(
      {
        AlarmName: 'AdvertBridge-Lag-Long',
        AlarmDescription: 'Runbook: docs/operate/runbook.md#faults',
        Namespace: 'N',
        MetricName: 'Lag',
        Dimensions: [{ Name: 'service', Value: { Ref: 'Bridge' } }],
        Statistic: 'Maximum',
        Period: 300,
        EvaluationPeriods: 1,
        Threshold: 300,
        ComparisonOperator: 'GreaterThanThreshold',
        ...over,
      },
      (value) => (typeof value === 'string' ? value : 'the-bridge'),
    );
  const now = 1_000_000;
  const state = (definition: ReturnType<typeof alarm>, points: Point[], factor = 1) =>
    stateAt(definition, points, now, factor, 'OK');
  const point = (secondsAgo: number, value: number, unit?: string): Point => ({
    at: now - secondsAgo * 1000,
    value,
    unit,
  });

  it('is read from the template, references resolved', () => {
    expect(alarm()).toMatchObject({
      name: 'Lag-Long',
      anchor: 'faults',
      metric: { dimensions: { service: 'the-bridge' }, periodSeconds: 300 },
    });
  });

  it('is ALARM only beyond the threshold, within the period', () => {
    expect(state(alarm(), [point(10, 300)])).toBe('OK');
    expect(state(alarm(), [point(10, 301)])).toBe('ALARM');
    expect(state(alarm(), [point(301, 301), point(10, 0)])).toBe('OK');
  });

  it('has shorter periods and longer seconds where time runs faster', () => {
    expect(state(alarm(), [point(5, 11, 'Seconds')], 30)).toBe('ALARM');
    expect(state(alarm(), [point(5, 10, 'Seconds')], 30)).toBe('OK');
    expect(state(alarm(), [point(11, 100, 'Seconds'), point(1, 0, 'Seconds')], 30)).toBe('OK');
    expect(state(alarm(), [point(5, 11)], 30)).toBe('OK');
  });

  it.each([
    ['breaching', 'ALARM'],
    ['notBreaching', 'OK'],
    ['ignore', 'OK'],
  ])('is, with missing data taken as %s, %s', (missing, expected) => {
    expect(state(alarm({ TreatMissingData: missing }), [])).toBe(expected);
  });

  it('stays where missing data is ignored', () => {
    const kept = stateAt(alarm({ TreatMissingData: 'ignore' }), [], now, 1, 'ALARM');

    expect(kept).toBe('ALARM');
  });

  it('wants as many periods as the alarm says', () => {
    const twoOfThree = alarm({ EvaluationPeriods: 3, DatapointsToAlarm: 2 });

    expect(state(twoOfThree, [point(10, 301), point(310, 0), point(610, 0)])).toBe('OK');
    expect(state(twoOfThree, [point(10, 301), point(310, 0), point(610, 301)])).toBe('ALARM');
  });

  it.each([{ Statistic: 'p99' }, { ComparisonOperator: 'LessThanThreshold' }, { MetricName: undefined }])(
    'is not known of an alarm with %j',
    (other) => {
      expect(() => alarm(other)).toThrow('the drill does not know the alarm');
    },
  );
});
