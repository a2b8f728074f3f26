import packageJson from '../../../package.json' with { type: 'json' };

const repository = packageJson.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/** The runbook's section, for whoever is woken by an alarm and has nothing but its text. */
export const runbookUrl = (heading: string): string =>
  `${repository}/blob/main/docs/operate/runbook.md#${heading.toLowerCase()}`;
