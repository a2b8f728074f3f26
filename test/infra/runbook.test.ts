import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type FaultPolicy, faultPolicies } from '../../shared/domain/faults.ts';
import { pageOf } from '../deploy/stack/shell.ts';

const runbook = readFileSync('docs/operate/runbook.md', 'utf8');

it('each block of commands in the runbook has a name', async () => {
  const { blocks } = await pageOf('docs/operate/runbook.md');

  expect(blocks.size).toBe(runbook.match(/^ *```sh$/gm)?.length);
  expect(blocks.get('dead-letters-drop')).toBe('advert-bridge dead-letters drop ID --yes\n');
});

it('the runbook says of each fault who acts and when messages are given up', () => {
  const givenUp: Readonly<Record<FaultPolicy['deadLettered'], string>> = {
    'at-once': 'the first try',
    'at-second': 'two tries',
    'by-tries': 'five tries',
    'by-age': '24 hours',
    never: 'never',
  };
  const [, section = ''] = runbook.split('\n## Faults\n');
  const rows = [...section.matchAll(/^\| `([\w-]+)` \| .+ \| (yes|no) \| ([\w ]+) \|$/gm)];

  expect(rows.map(([, kind, person, tries]) => [kind, person, tries])).toEqual(
    Object.entries(faultPolicies).map(([kind, { needsAttention, deadLettered }]) => [
      kind,
      needsAttention ? 'yes' : 'no',
      givenUp[deadLettered],
    ]),
  );
});

it('the runbook says what to do about each fault that needs a person', () => {
  const [, section = ''] = runbook.split('\n## NeedsAttention\n');
  const [causes = ''] = section.split('\n## ');
  const needing = Object.entries(faultPolicies).filter(([, { needsAttention }]) => needsAttention);

  expect(needing.map(([kind]) => kind).filter((kind) => !causes.includes(`\`${kind}\``))).toEqual([]);
});
