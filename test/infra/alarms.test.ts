// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stackName } from '../../shared/contract/names.ts';
import problems from '../../shared/findings/problems.json' with { type: 'json' };
import { inShort, repository, synthesized } from '../helpers/synthesized.ts';

const mailing = synthesized({ alarmEmail: 'team@example.com' });
const runbook = readFileSync(join(repository, 'docs/operate/runbook.md'), 'utf8');

const catalogue = Object.entries(problems.alarm);

it('each alarm has its description from its entry in the catalogue', () => {
  const made = synthesized({ auditSample: '299' }).ofType('AWS::CloudWatch::Alarm');
  const described = made.map(([, { Properties }]) => [Properties.AlarmName, Properties.AlarmDescription]);
  const entries = catalogue.map(([name, { severity, runbook }]) => {
    const page = `advert-bridge/docs/operate/runbook.md#${runbook}`;
    return [
      `${stackName}-${name}`,
      // Each fact of the sentence is there.
      expect.stringMatching(new RegExp(`^Severity: ${severity}\\. [^{}[\\]]{40,900}\\. Runbook: ${page}$`)),
    ];
  });
  expect(Object.fromEntries(described)).toEqual(Object.fromEntries(entries));
});

it('the backlog alarm names the runbook and the bound of the settings', () => {
  const given = synthesized({ runbookUrl: 'https://wiki.example/runbook', backlogAlarmSeconds: '7200' });
  const { AlarmDescription } = given.one('AWS::CloudWatch::Alarm', 'AlarmsNeedsAttentionBacklog').Properties;
  expect(AlarmDescription).toMatch(
    /\(2 hours\): .* Runbook: https:\/\/wiki\.example\/runbook#needsattention$/,
  );
});

const sections = runbook.split(/^## /m).slice(1);

it.each(catalogue)('the runbook describes, investigates and resolves: %s', (name, entry) => {
  const section = sections.find((text) => text.startsWith(`${name.split('-')[0]}\n`)) ?? '';
  const parts = [...section.matchAll(/^### (.+)$/gm)].map(([, part]) => part);
  expect(parts).toEqual(['Description', 'Investigation', 'Resolution']);
  expect(section.split('\n')[0]?.toLowerCase()).toBe(entry.runbook);
  expect(section).toContain(`everity ${entry.severity}`);
});

it('only alarms of this bridge and AWS account may send notifications', () => {
  const policies = [
    mailing.one('AWS::KMS::Key').Properties.KeyPolicy,
    mailing.one('AWS::SNS::TopicPolicy').Properties.PolicyDocument,
  ];
  const ofAlarms = policies.flatMap(({ Statement }) =>
    Statement.filter(({ Principal }: Statement) => Principal.Service === 'cloudwatch.amazonaws.com'),
  );
  const StringEquals = { 'aws:SourceAccount': '${AWS::AccountId}' };
  const own = mailing.ofType('AWS::CloudWatch::Alarm').map(([id]) => ({ 'Fn::GetAtt': [id, 'Arn'] }));
  expect(inShort(ofAlarms)).toMatchObject([
    { Action: ['kms:Decrypt', 'kms:GenerateDataKey*'], Condition: { StringEquals } },
    {
      Action: 'sns:Publish',
      Condition: { StringEquals, ArnEquals: { 'aws:SourceArn': inShort(own) } },
    },
  ]);
});

interface Statement {
  readonly Principal: { readonly Service?: string };
}
