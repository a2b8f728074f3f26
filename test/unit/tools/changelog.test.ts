import { expect, it } from 'vitest';
import { isNewer, releasedChangelog, unreleasedOf } from '../../../tools/release/changelog.ts';

const changelog = '# Changelog\n\n## Unreleased\n\n- $1 new\n\n## 0.1.0 · 2026-01-01\n\n- old\n';

it('unreleased changes become a release, and an empty section is left', () => {
  const after = releasedChangelog(changelog, '0.2.0', '2026-11-22');

  expect(after).toBe(
    '# Changelog\n\n## Unreleased\n\n## 0.2.0 · 2026-11-22\n\n- $1 new\n\n## 0.1.0 · 2026-01-01\n\n- old\n',
  );
  expect(unreleasedOf(after)).toBe('');
  expect(() => releasedChangelog(after, '0.3.0', '2026-11-23')).toThrow('says nothing under Unreleased');
});

it('the first release has no earlier one below it', () => {
  expect(releasedChangelog('## Unreleased\n\n- new\n', '0.1.0', '2026-11-22')).toBe(
    '## Unreleased\n\n## 0.1.0 · 2026-11-22\n\n- new\n',
  );
});

it.each([
  ['0.2.0', '0.1.9', true],
  ['0.10.0', '0.9.0', true],
  ['1.0.0', '0.9.9', true],
  ['0.1.0', '0.1.0', false],
  ['0.9.0', '0.10.0', false],
  ['0.1.9', '0.2.0', false],
])('%s is newer than %s: %j', (version, other, expected) => {
  expect(isNewer(version, other)).toBe(expected);
});
