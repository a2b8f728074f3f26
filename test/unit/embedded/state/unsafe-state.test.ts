import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { exposureOf } from '../../../../embedded/state/file/private-folder.ts';
import { markWriter } from '../../../../embedded/state/file/published-mark.ts';
import { isRunning, takeRunLock } from '../../../../embedded/state/file/run-lock.ts';
import { openEmbeddedState } from '../../../../embedded/state/state.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const somebody = 12_345;
const isRoot = process.getuid?.() === 0;
const unsafe = expect.objectContaining({ name: 'StateError', code: 'state-unsafe' });

/** A folder with a state in it, closed, at its end a folder `state`. */
function prepared(): string {
  const dir = path.join(folder(), 'state');
  openEmbeddedState(dir).close();
  takeRunLock(dir, 'test').release();
  return dir;
}

/** Each way into the folder refuses it, and leaves it as it was. */
function expectRefused(dir: string, message: RegExp | string): void {
  const listed = () => readdirSync(path.resolve(dir), { recursive: true }).toSorted();
  const before = existsSync(dir) ? listed() : undefined;
  for (const open of [() => openEmbeddedState(dir), () => takeRunLock(dir, 'test'), () => isRunning(dir)]) {
    expect(open).toThrow(unsafe);
    expect(open).toThrow(message);
  }
  expect(existsSync(dir) ? listed() : undefined).toEqual(before);
}

describe.skipIf(!isRoot)('a state that belongs to another user', () => {
  it("another user's state is refused, even for root, and stays unchanged", () => {
    const dir = prepared();
    chownSync(dir, somebody, somebody);

    expectRefused(dir, `${dir} belongs to another user (user ID ${somebody}; this runs as 0, root)`);
    expectRefused(`${dir}/`, 'belongs to another user');
    const empty = folder();
    chownSync(empty, somebody, somebody);
    expectRefused(empty, `chown -R 0 ${empty}`);
    expect(readdirSync(empty)).toEqual([]);
  });

  it.each(['bridge.db', 'bridge.db-wal', 'run.lock-journal'])(
    'a state is refused when another user owns %s alone',
    (name) => {
      const dir = prepared();
      const file = path.join(dir, name);
      writeFileSync(file, '', { mode: 0o644 });
      chownSync(file, somebody, somebody);

      expectRefused(dir, `${file} belongs to another user`);
      expect(lstatSync(file).uid).toBe(somebody);
    },
  );
});

describe.skipIf(process.platform === 'win32')('a state in a folder of this user', () => {
  it.each([0o777, 0o702, 0o1777])('a state folder is refused when others may write, with mode %o', (mode) => {
    const dir = prepared();
    chmodSync(dir, mode);

    expectRefused(dir, `chmod go-w ${dir}`);
    expect(lstatSync(dir).mode & 0o7777).toBe(mode);
  });

  it.skipIf(!isRoot).each([
    [0o770, somebody, true],
    [0o770, 0, false],
    [0o750, somebody, false],
  ])('a state folder with mode %o, of group %i, is refused: %s', (mode, group, isRefused) => {
    const dir = prepared();
    chownSync(dir, 0, group);
    chmodSync(dir, mode);

    if (isRefused) expectRefused(dir, 'can be written by others');
    else expect(() => openEmbeddedState(dir).close()).not.toThrow();
  });
});

describe.skipIf(process.platform === 'win32')('a state below a folder that others may write', () => {
  it.each([
    [0o777, 'a/b'],
    [0o757, ''],
  ])('a state far below mode %o is refused before anything is made in %j', (mode, existing) => {
    const top = folder();
    mkdirSync(path.join(top, existing), { recursive: true });
    chmodSync(top, mode);

    expectRefused(path.join(top, 'a', 'b', 'state'), `chmod go-w ${top}`);
    expect(readdirSync(top)).toEqual(existing === '' ? [] : ['a']);
  });

  it('a state below a sticky folder such as /tmp is taken', () => {
    const dir = prepared();
    chmodSync(path.dirname(dir), 0o1777);

    expect(() => openEmbeddedState(dir).close()).not.toThrow();
  });

  it.skipIf(!isRoot)('a state is refused when another user owns the sticky folder above it', () => {
    const dir = prepared();
    chownSync(path.dirname(dir), somebody, somebody);

    expectRefused(dir, `${path.dirname(dir)}, above the folder of the bridge, belongs to another user`);
  });
});

describe.skipIf(!isRoot)('a state on a volume that was named', () => {
  const fsGroup = 2_000;

  /** As Kubernetes mounts it. */
  function onVolume({ named = (volume: string) => volume } = {}): string {
    const dir = prepared();
    const volume = path.dirname(dir);
    chownSync(volume, 0, fsGroup);
    chmodSync(volume, 0o2775);
    vi.stubEnv('ADVERT_BRIDGE_VOLUME', named(volume));
    return dir;
  }

  it('a named volume is taken, its files private, when its group may write', () => {
    const dir = onVolume();
    const file = path.join(dir, 'bridge.db');
    for (const [place, mode] of [
      [dir, 0o2770],
      [file, 0o660],
    ] as const) {
      chownSync(place, 0, fsGroup);
      chmodSync(place, mode);
    }

    expect(exposureOf(dir)).toBeUndefined();
    openEmbeddedState(dir).close();
    expect(lstatSync(file).mode & 0o777).toBe(0o600);
    expect(exposureOf(dir)).toBeUndefined();
    chmodSync(file, 0o604);
    expect(exposureOf(dir)?.says).toContain('can read');
  });

  it.each<[string, RegExp | string, (dir: string) => void]>([
    ['all may write into the folder', 'chmod go-w', (dir) => chmodSync(dir, 0o2777)],
    ['a group of another number may', 'chmod go-w', (dir) => chmodSync(dir, 0o770)],
    ['the folder is of another user', 'another user', (dir) => chownSync(dir, somebody, fsGroup)],
    ['a file is', 'another user', (dir) => chownSync(path.join(dir, 'bridge.db'), somebody, fsGroup)],
    [
      'the volume is',
      /above the folder .* another/,
      (dir) => chownSync(path.dirname(dir), somebody, fsGroup),
    ],
  ])('a named volume is refused when %s', (_, message, plant) => {
    const dir = onVolume();
    chownSync(dir, 0, somebody);
    plant(dir);

    expectRefused(dir, message);
  });

  it.each<[string, (volume: string) => string]>([
    ['none', () => ''],
    ['another folder whose name begins alike', (volume) => volume.slice(0, -1)],
    ['the folder below it', (volume) => path.join(volume, 'state')],
    ['a relative path', (volume) => path.relative(process.cwd(), volume)],
  ])('a volume is refused when the name is %s', (_, named) => {
    expectRefused(onVolume({ named }), 'On a volume of a container: docs/operate/service.md#kubernetes');
  });
});

it('a link as the state folder is refused, with the folder it leads to', () => {
  const dir = prepared();
  const link = path.join(folder(), 'link');
  symlinkSync(dir, link);

  expectRefused(link, `--local ${dir}`);
  expectRefused(`${link}/`, `${link} is a symbolic link`);
  symlinkSync(path.join(folder(), 'nowhere'), `${link}2`);
  expectRefused(`${link}2`, 'is a symbolic link');
  expect(() => openEmbeddedState(path.join(link, '.')).close()).toThrow(unsafe);
});

it.skipIf(!isRoot).each([
  ['itself', ''],
  ['behind a link of this user', 'own'],
  ['relative', '../'],
])('a state below a link of another user is refused: %s', (_, kind) => {
  const dir = prepared();
  const [top, shared] = [folder(), folder()];
  chmodSync(shared, 0o1777);
  const foreign = path.join(shared, 'foreign');
  const target = path.dirname(dir);
  symlinkSync(kind === '../' ? path.relative(shared, target) : target, foreign);
  lchownSync(foreign, somebody, somebody);
  symlinkSync(foreign, path.join(top, 'own'));

  const way = kind === 'own' ? path.join(top, 'own') : foreign;
  expectRefused(
    path.join(way, 'state'),
    `${foreign}, a link on the way to the folder of the bridge, belongs to`,
  );
});

it('a state below a link is refused when others may write beside the link', () => {
  const dir = prepared();
  const open = folder();
  symlinkSync(path.dirname(dir), path.join(open, 'link'));
  chmodSync(open, 0o777);

  expectRefused(path.join(open, 'link', 'state'), `chmod go-w ${open}`);
});

it('a state below links in a circle is refused by the system', () => {
  const top = folder();
  symlinkSync('b', path.join(top, 'a'));
  symlinkSync('a', path.join(top, 'b'));

  const open = () => openEmbeddedState(path.join(top, 'a', 'state'));
  expect(open).toThrow(expect.objectContaining({ code: 'state-not-writable' }));
});

it('a state folder may stand in a folder that is a link', () => {
  const dir = prepared();
  const link = path.join(folder(), 'above');
  symlinkSync(path.dirname(dir), link);

  expect(() => openEmbeddedState(path.join(link, 'state')).close()).not.toThrow();
});

it.each([
  'bridge.db',
  'bridge.db-shm',
  'run.lock',
  'run.lock-wal',
  'was-readable',
  'heartbeat',
  'published.json',
])('a linked file is refused as %s, and its target stays as it is', (name) => {
  const dir = prepared();
  const file = path.join(dir, name);
  const elsewhere = path.join(folder(), 'precious');
  if (existsSync(file)) renameSync(file, elsewhere);
  else writeFileSync(elsewhere, 'precious');
  chmodSync(elsewhere, 0o644);
  symlinkSync(elsewhere, file);
  const before = readFileSync(elsewhere);

  expectRefused(dir, `${file} is a symbolic link`);
  expect(lstatSync(elsewhere).mode & 0o777).toBe(0o644);
  expect(readFileSync(elsewhere).equals(before)).toBe(true);
});

it('a link is replaced where a run is about to write its mark', async () => {
  const dir = prepared();
  const elsewhere = path.join(folder(), 'precious');
  writeFileSync(elsewhere, 'precious');
  symlinkSync(elsewhere, path.join(dir, 'published.json.next'));

  await markWriter(dir, { lastEvent: () => 7, makeDurable: async () => undefined })();

  expect(readFileSync(elsewhere, 'utf8')).toBe('precious');
  expect(readFileSync(path.join(dir, 'published.json'), 'utf8')).toContain('"event":7');
});
