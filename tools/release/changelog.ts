const unreleased = /^## Unreleased\n([\s\S]*?)(?=^## |$(?![\s\S]))/m;

/** The text of CHANGELOG.md under Unreleased; empty when there is none yet. */
export const unreleasedOf = (changelog: string): string => unreleased.exec(changelog)?.[1]?.trim() ?? '';

/**
 * CHANGELOG.md with the text under Unreleased turned into a release, and a new empty section Unreleased.
 *
 * @param date such as `2026-11-22`
 * @throws when there is nothing under Unreleased
 */
export function releasedChangelog(changelog: string, version: string, date: string): string {
  const news = unreleasedOf(changelog);
  if (news === '') throw new Error('CHANGELOG.md says nothing under Unreleased');
  return (
    changelog.replace(unreleased, () => `## Unreleased\n\n## ${version} · ${date}\n\n${news}\n\n`).trimEnd() +
    '\n'
  );
}

/** @param version as `1.2.3`, as is `other` */
export function isNewer(version: string, other: string): boolean {
  const [a, b] = [version, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const differs = a.findIndex((number, place) => number !== b[place]);
  return differs >= 0 && (a[differs] ?? 0) > (b[differs] ?? 0);
}
