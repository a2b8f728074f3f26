import { ownPackage } from '../own-package.ts';

const repository = ownPackage.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

/**
 * The runbook's section, for whoever is woken by an alarm and has nothing but its text. Of the `repository` in package.json, which
 * names a host that cannot exist until this repository is published: who deploys from a copy of theirs puts its address there.
 */
export const runbookUrl = (heading: string): string =>
  `${repository}/blob/main/docs/operate/runbook.md#${heading.toLowerCase()}`;
