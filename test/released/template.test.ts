/** The stack over a stack of the last release: nothing that holds state is replaced, and the code that still runs may do its work. */
import { describe, expect, it } from 'vitest';
import { allowedChanges } from './allowed-changes.ts';
import { compareTemplates } from './compare-templates.ts';
import { fileOf, releases } from './releases.ts';
import { type ReleasedTemplate, templateNow } from './template.ts';

const release = releases.at(-1);
if (!release) throw new Error('there is no release');
const before: ReleasedTemplate = JSON.parse(fileOf(release, 'template.json'));

describe(`over release ${release.version}`, () => {
  const found = compareTemplates(before, templateNow());

  it('no resource is replaced or lost, no grant taken away, but for what is allowed with a reason', () => {
    const allowed = new Set(allowedChanges.map(({ id }) => id));
    const says = found.filter(({ id }) => !allowed.has(id)).map(({ id, says }) => `${id}: ${says}`);
    expect(says, 'mend it, or allow it with a reason in test/released/allowed-changes.ts').toEqual([]);
  });

  it('nothing is allowed that does not happen', () => {
    const ids = found.map(({ id }) => id);
    expect(allowedChanges.filter(({ id }) => !ids.includes(id))).toEqual([]);
    for (const { reason } of allowedChanges) expect(reason.length).toBeGreaterThan(20);
  });
});

type Resources = Record<
  string,
  { Type: string; Properties: Record<string, unknown>; DeletionPolicy?: string }
>;

/** The release's own template with a change planted. */
function planted(change: (resources: Resources, idOf: (prefix: string) => string) => void): string[] {
  const after = structuredClone(before) as { Resources: Resources; Outputs: ReleasedTemplate['Outputs'] };
  const idOf = (prefix: string) => {
    const [id = ''] = Object.keys(after.Resources).filter((each) => each.startsWith(prefix));
    return id;
  };
  change(after.Resources, idOf);
  return compareTemplates(before, after).map(({ says }) => says);
}

const of = (resources: Resources, id: string) => {
  const found = resources[id];
  if (!found) throw new Error(`no resource ${id}`);
  return found;
};

/** The release's template with another logical ID in the place of this one, wherever it stands. */
function renamed(prefix: string): string[] {
  const [id = ''] = Object.keys(before.Resources).filter((each) => each.startsWith(prefix));
  const after = JSON.parse(JSON.stringify(before).replaceAll(`"${id}"`, `"${id}2"`));
  return compareTemplates(before, after).map(({ says }) => says);
}

describe('the check finds', () => {
  it('nothing where nothing has changed, or may be changed in place', () => {
    expect(planted(() => undefined)).toEqual([]);
    const changed = planted((resources, idOf) => {
      of(resources, idOf('ChangedAdvertsQueue')).Properties.VisibilityTimeout = 900;
      of(resources, idOf('FanOutWorkerFunction')).Properties.MemorySize = 512;
    });
    expect(changed).toEqual([]);
  });

  it.each<[string, string, string, unknown]>([
    ['a table with another key', 'FeedState', 'KeySchema', [{ AttributeName: 'id', KeyType: 'HASH' }]],
    ['a table with a name of its own', 'FanOutAdvertStatus', 'TableName', 'adverts'],
    ['a queue with a name of its own', 'ChangedAdvertsQueue', 'QueueName', 'changes.fifo'],
    ['a bus with another name', 'EventsBus', 'Name', 'events'],
    ['a secret with another name', 'RefreshTokenApplication', 'Name', 'bridge/application'],
    ['a log group with another name', 'FanOutWorkerLogs', 'LogGroupName', '/fan-out'],
    [
      'a role with another name, which stands in the policies of secrets',
      'DrainReaderRole',
      'RoleName',
      'drain',
    ],
  ])('%s', (_what, prefix, property, value) => {
    const found = planted((resources, idOf) => {
      of(resources, idOf(prefix)).Properties[property] = value;
    });
    const says = `^${prefix}.* would be replaced, because ${property} cannot`;
    expect(found).toContainEqual(expect.stringMatching(says));
  });

  it.each(['FeedState', 'ChangedAdvertsQueue', 'ChangedAdvertsDeadLetters', 'EventsBus', 'FanOutWorkerLogs'])(
    'that %s has another logical ID',
    (prefix) => {
      expect(renamed(prefix)).toContainEqual(
        expect.stringMatching(`^${prefix}.* is not in the template any more`),
      );
    },
  );

  it('a table that would go with the stack', () => {
    const found = planted((resources, idOf) => {
      of(resources, idOf('FeedState')).DeletionPolicy = 'Delete';
    });
    expect(found).toEqual([expect.stringMatching(/^FeedState.* would no longer outlive the stack\.$/)]);
  });

  it('a grant that the code of the release still needs', () => {
    const found = planted((resources, idOf) => {
      const { Properties } = of(resources, idOf('FanOutWorkerRoleDefaultPolicy'));
      const { Statement } = Properties.PolicyDocument as { Statement: { Action: string | string[] }[] };
      for (const each of Statement) {
        each.Action = [each.Action].flat().filter((action) => action !== 'events:PutEvents');
      }
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^The role FanOutWorkerRole\w+ may no longer events:PutEvents on arn:aws:events:/,
      ),
    ]);
  });

  it('an output that is gone', () => {
    const { QueueUrl: _gone, ...Outputs } = before.Outputs;
    expect(compareTemplates(before, { ...before, Outputs })).toEqual([
      expect.objectContaining({ id: 'output QueueUrl is gone' }),
    ]);
  });
});
