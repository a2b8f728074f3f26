import { describe, expect, it } from 'vitest';
import { synthesized } from '../helpers/synthesized.ts';

interface Template {
  readonly Parameters: Readonly<Record<string, { readonly Default: string }>>;
  readonly Rules: Readonly<
    Record<string, { readonly Assertions: readonly { Assert: unknown; AssertDescription: string }[] }>
  >;
}
type Values = Readonly<Record<string, string>>;

const kept = ['busName', 'alarmEmail', 'alarmTopicArn', 'feedStateTable', 'advertStatusTable'];
const pager = 'arn:aws:sns:eu-central-1:111111111111:pager';
const templates = new Map<string, Template>();
function templateOf(settings: Values): Template {
  const key = JSON.stringify(settings);
  const template = templates.get(key) ?? (synthesized(settings).template.toJSON() as Template);
  templates.set(key, template);
  return template;
}

/**
 * What CloudFormation does before it touches any resource: the values of the parameters, of which `cdk deploy` has those
 * that it is not given keep the value that the stack has, and the rules over them.
 *
 * @returns the values that the stack has after it, or what the first rule broken says
 */
function deploy(settings: Values, before: Values = {}, parameters: Values = {}): Values | string {
  const { Parameters, Rules } = templateOf(settings);
  const values = Object.fromEntries(
    kept.map((name) => [name, parameters[name] ?? before[name] ?? Parameters[name]?.Default ?? '']),
  );
  for (const name of kept) {
    for (const { Assert, AssertDescription } of Rules[`${name}Kept`]?.Assertions ?? []) {
      const [reference, wanted] = (Assert as { 'Fn::Equals': [{ Ref: string }, string] })['Fn::Equals'];
      if (values[reference.Ref] !== wanted) return AssertDescription;
    }
  }
  return values;
}

const given = { busName: 'orders', alarmEmail: 'team@example.com', alarmTopicArn: pager };
const ownTables = { feedStateTable: 'none', advertStatusTable: 'none' };
const deployed = deploy(given) as Values;

describe('a deployment', () => {
  it('is accepted the first time, with and without the settings that are kept', () => {
    expect(deployed).toEqual({ ...given, ...ownTables });
    expect(deploy({})).toEqual({
      busName: 'adverts',
      alarmEmail: 'none',
      alarmTopicArn: 'none',
      ...ownTables,
    });
  });

  it('is accepted again with the settings that the stack has, whatever else changes', () => {
    expect(deploy({ ...given, pollSeconds: '10' }, deployed)).toEqual(deployed);
  });

  it.each([
    ['without alarmEmail', { busName: 'orders', alarmTopicArn: pager }, 'alarmEmail', 'none'],
    ['without busName', { alarmEmail: 'team@example.com', alarmTopicArn: pager }, 'busName', 'adverts'],
    ['without alarmTopicArn', { busName: 'orders', alarmEmail: 'team@example.com' }, 'alarmTopicArn', 'none'],
    ['with another busName', { ...given, busName: 'x' }, 'busName', 'x'],
    ['with another alarmEmail', { ...given, alarmEmail: 'b@example.com' }, 'alarmEmail', 'b@example.com'],
    ['with another table', { ...given, feedStateTable: 'restored' }, 'feedStateTable', 'restored'],
  ])('%s is refused, and accepted when it is confirmed', (_how, settings, name, value) => {
    const refusal = deploy(settings, deployed);

    expect(refusal).toMatch(
      new RegExp(
        `^Nothing was changed\\. The deployed stack has another ${name} than this deployment \\(${value}\\), which would ` +
          `.* add: --parameters ${name}=${value}$`,
      ),
    );
    const after = deploy(settings, deployed, { [name]: value });
    expect(after).toEqual({ ...deployed, [name]: value });
    // And stays so without another word.
    expect(deploy(settings, after as Values)).toEqual(after);
  });

  it('that confirms another value than it has is refused', () => {
    expect(deploy(given, deployed, { busName: 'x' })).toContain(
      'another busName than this deployment (orders)',
    );
  });

  it('of what an earlier version deployed, without these parameters, is accepted', () => {
    expect(deploy(given, {})).toEqual(deployed);
  });
});
