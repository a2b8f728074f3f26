// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { alarms, stackName } from '../../shared/contract/names.ts';
import { inShort, repository, synthesized } from '../helpers/synthesized.ts';

const mailing = synthesized({ alarmEmail: 'team@example.com' });
const runbook = readFileSync(join(repository, 'docs/operate/runbook.md'), 'utf8');

it('each alarm names a severity and the heading of the runbook', () => {
  const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  for (const [, { Properties }] of synthesized({ auditSample: '299' }).ofType('AWS::CloudWatch::Alarm')) {
    const { AlarmDescription: description, AlarmName } = Properties;
    const [, text, page, anchor] =
      /^Severity: (?:fault|attention)\. (.+) Runbook: advert-bridge\/(.+)#(.+)$/.exec(description) ?? [];
    expect([text === '', page]).toEqual([false, 'docs/operate/runbook.md']);
    const heading = headings.find((one) => one?.toLowerCase() === anchor);
    expect(AlarmName.replace(`${stackName}-`, '').split('-')[0]).toBe(heading);
    expect(description.length).toBeLessThanOrEqual(1024);
  }
});

it('the backlog alarm names the runbook and the bound of the settings', () => {
  const given = synthesized({ runbookUrl: 'https://wiki.example/runbook', backlogAlarmSeconds: '7200' });
  const { AlarmDescription } = given.one('AWS::CloudWatch::Alarm', 'AlarmsNeedsAttentionBacklog').Properties;
  expect(AlarmDescription).toMatch(
    /for 2 hours: .* Runbook: https:\/\/wiki\.example\/runbook#needsattention$/,
  );
});

const sections = runbook.split(/^## /m).slice(1);

it.each(Object.values(alarms))('the runbook describes, investigates and resolves: %s', (alarm) => {
  const section = sections.find((text) => text.startsWith(`${alarm}\n`));
  const parts = [...(section ?? '').matchAll(/^### (.+)$/gm)].map(([, part]) => part);
  expect(parts).toEqual(['Description', 'Investigation', 'Resolution']);
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
