// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of CloudFormation in short.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alarms, stackName } from '../../shared/contract/names.ts';
import { inShort, repository, synthesized } from '../helpers/synthesized.ts';

const silent = synthesized();
const mailing = synthesized({ alarmEmail: 'team@example.com' });
const runbook = readFileSync(join(repository, 'docs/operate/runbook.md'), 'utf8');

describe('the alarms', () => {
  it('watch the findings of the daily audit only when it is on', () => {
    const [off, on] = [silent, synthesized({ auditSample: '299' })].map(
      ({ ofType }) => ofType('AWS::CloudWatch::Alarm').length,
    );
    expect(on).toBe((off ?? 0) + 1);
  });

  it('name a severity and the heading of the runbook', () => {
    const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    for (const [, { Properties }] of synthesized({ auditSample: '299' }).ofType('AWS::CloudWatch::Alarm')) {
      const { AlarmDescription: description, AlarmName } = Properties;
      const [, text, page, anchor] =
        /^Severity: (?:high|medium)\. (.+) Runbook: advert-bridge\/(.+)#(.+)$/.exec(description) ?? [];
      expect([text === '', page]).toEqual([false, 'docs/operate/runbook.md']);
      const heading = headings.find((one) => one?.toLowerCase() === anchor);
      expect(AlarmName.replace(`${stackName}-`, '').split('-')[0]).toBe(heading);
      expect(description.length).toBeLessThanOrEqual(1024);
    }
  });

  it('use the runbook and the backlog bound of the settings', () => {
    const url = 'https://wiki.example/runbook';
    const given = synthesized({ runbookUrl: url, backlogAlarmSeconds: '7200' });
    const { AlarmDescription, Threshold } = given.one(
      'AWS::CloudWatch::Alarm',
      'AlarmsNeedsAttentionBacklog',
    ).Properties;
    expect(AlarmDescription).toMatch(
      /waited in the queue for 2 hours: .* Runbook: https:\/\/wiki\.example\/runbook#needsattention$/,
    );
    expect(Threshold).toBe(7200);
  });

  it('exist before any schedule', () => {
    const all = silent.ofType('AWS::CloudWatch::Alarm').map(([id]) => id);
    for (const [, { DependsOn }] of silent.ofType('AWS::Scheduler::Schedule')) {
      expect(DependsOn).toEqual(expect.arrayContaining(all));
    }
  });
});

describe('the section of an alarm in the runbook', () => {
  const sections = runbook.split(/^## /m).slice(1);

  it.each(Object.values(alarms))('describes, investigates and resolves: %s', (alarm) => {
    const section = sections.find((text) => text.startsWith(`${alarm}\n`));
    const parts = [...(section ?? '').matchAll(/^### (.+)$/gm)].map(([, part]) => part);
    expect(parts).toEqual(['Description', 'Investigation', 'Resolution']);
  });
});

describe('notifications', () => {
  it('go to the given address for every alarm and its end', () => {
    const topic = mailing.one('AWS::SNS::Topic');
    expect(mailing.one('AWS::SNS::Subscription').Properties).toEqual({
      TopicArn: { Ref: topic.id },
      Protocol: 'email',
      Endpoint: 'team@example.com',
    });
    for (const [, { Properties }] of mailing.ofType('AWS::CloudWatch::Alarm')) {
      expect(Properties.AlarmActions).toEqual([{ Ref: topic.id }]);
      expect(Properties.OKActions).toEqual([{ Ref: topic.id }]);
    }
    expect(silent.ofType('AWS::SNS::Topic')).toEqual([]);
    expect(silent.ofType('AWS::KMS::Key')).toEqual([]);
  });

  it('go to a given topic, alone or together with an address', () => {
    const pager = 'arn:aws:sns:eu-central-1:111111111111:pager';
    const paging = synthesized({ alarmTopicArn: pager });
    const both = synthesized({ alarmTopicArn: pager, alarmEmail: 'team@example.com' });
    for (const [, { Properties }] of paging.ofType('AWS::CloudWatch::Alarm')) {
      expect([Properties.AlarmActions, Properties.OKActions]).toEqual([[pager], [pager]]);
    }
    expect(paging.ofType('AWS::SNS::Topic')).toEqual([]);
    for (const [, { Properties }] of both.ofType('AWS::CloudWatch::Alarm')) {
      expect(Properties.AlarmActions).toEqual([{ Ref: both.one('AWS::SNS::Topic').id }, pager]);
    }
  });

  it('may be sent only by alarms of this bridge, of its AWS account', () => {
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
});

interface Statement {
  readonly Principal: { readonly Service?: string };
}
