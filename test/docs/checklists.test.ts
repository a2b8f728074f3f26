import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { metrics } from '../../shared/contract/names.ts';
import { bridgeSettings } from '../../shared/contract/settings.ts';

const page = readFileSync('docs/contribute/checklists.md', 'utf8');
const [setting = ''] = Object.keys(bridgeSettings).slice(-1);
const [metric = ''] = Object.values(metrics).slice(-1);

/** The files that the section names after "Files:". */
function filesOf(section: string): string[] {
  const [, list = ''] = new RegExp(`^## ${section}\\n\\nFiles: ([^.][\\s\\S]*?)\\n\\n`, 'm').exec(page) ?? [];
  return [...list.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
}

it.each([
  ['A setting', setting],
  ['A metric or an alarm', metric],
])('every file in the checklist "%s" has the latest one, %s', (section, name) => {
  const files = filesOf(section);

  expect(files.length).toBeGreaterThan(4);
  expect(
    files.filter((file) => !readFileSync(file, 'utf8').toLowerCase().includes(name.toLowerCase())),
  ).toEqual([]);
});
