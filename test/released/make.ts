import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { released } from './releases.ts';
import { type ReleasedTemplate, templateNow } from './template.ts';

const folder = join(released, '0.1.0');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'template.json'), textOf(templateNow()));

/** One line for each resource, so that a difference between two releases can be read. */
function textOf({ Resources, Outputs }: ReleasedTemplate): string {
  const lines = Object.entries(Resources).map(
    ([id, resource]) => `  ${JSON.stringify(id)}: ${JSON.stringify(resource)}`,
  );
  return `{"Resources": {\n${lines.join(',\n')}\n},\n"Outputs": ${JSON.stringify(Outputs)}}\n`;
}
