import { ownPackage } from '../own-package.ts';

const repository = ownPackage.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/**
 * The address of the runbook's section, for the person who is on call and has only the alarm's text. It is made from
 * `repository` in package.json, which is a placeholder until this repository is published: replace it with the address
 * of your copy.
 */
export const runbookUrl = (heading: string): string =>
  `${repository}/blob/main/docs/operate/runbook.md#${heading.toLowerCase()}`;
