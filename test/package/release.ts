/** A release, made of the working tree in a repository of its own: what everything after it installs. */
import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, run, step, succeeds } from './steps.ts';

/** @returns the folder of the release, and its version */
export async function makeRelease(
  repository: string,
  folder: string,
): Promise<{ readonly made: string; readonly version: string }> {
  const copy = join(folder, 'repository');
  const git = (...args: string[]) => succeeds(copy, {}, 'git', ...args);
  const noScripts = { npm_config_ignore_scripts: 'true' };
  const release = (...args: string[]) =>
    run(copy, noScripts, process.execPath, 'tools/release/release.ts', ...args);
  const { version: last } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const [major, minor] = last.split('.').map(Number);
  const version = `${major}.${minor + 1}.0`;
  const tag = `v${version}`;

  const tracked = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const listed = await succeeds(repository, {}, 'git', ...tracked);
  for (const file of listed.split('\n')) {
    // What is deleted and not committed yet is listed as well.
    await cp(join(repository, file), join(copy, file)).catch(() => undefined);
  }
  // Right after a release there is nothing new.
  const changelog = join(copy, 'CHANGELOG.md');
  const news = await readFile(changelog, 'utf8');
  await writeFile(changelog, news.replace('## Unreleased\n', '$&\n- A change.\n'));
  await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
  await git('init', '--quiet', '--initial-branch', 'main');
  await mkdir(join(copy, '.git/info'), { recursive: true });
  await writeFile(join(copy, '.git/info/exclude'), 'node_modules\n');
  await git('config', 'user.name', 'test');
  await git('config', 'user.email', 'test@example.org');
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'What is to be released');
  const before = await git('rev-parse', 'HEAD');

  await step('npm run release, dry: says each step and changes nothing', async () => {
    const { code, out, err } = await release(version);
    expect(code === 0, `exit ${code}\n${out}${err}`);
    const names = ['version', 'changelog', 'contract', 'commit', 'tarballs', 'tag', 'publish'];
    const said = [...out.matchAll(/^would {2}([a-z]+): ./gm)].map(([, name]) => name);
    expect(said.join() === names.join(), `it says\n${out}`);
    const after = [await git('rev-parse', 'HEAD'), await git('status', '--porcelain'), await git('tag')];
    expect(after.join() === `${before},,`, `it changed ${after}`);
  });
  await step('… and does not begin what is not ready', async () => {
    await writeFile(join(copy, 'forgotten.ts'), '');
    await git('checkout', '--quiet', '-b', 'other');
    const { code, out } = await release(last, '--execute');
    await git('checkout', '--quiet', 'main');
    await git('clean', '--quiet', '--force', 'forgotten.ts');
    const faults = out.match(/^FAULT .*/gm) ?? [];
    expect(code === 1 && faults.length === 3 && out.includes('Nothing was changed'), `exit ${code}\n${out}`);
    expect((await git('rev-parse', 'HEAD')) === before, 'it began');
  });
  await step('… and says how to go back from a step that fails', async () => {
    const budgets = join(copy, 'tools/release/size-budgets.ts');
    const source = await readFile(budgets, 'utf8');
    await writeFile(budgets, source.replace(/package: [0-9_]+/, 'package: 1'));
    await git('commit', '--quiet', '--all', '--message', 'A step that fails');
    const { code, out } = await release(version, '--execute');
    expect(code === 1 && out.includes('FAULT  tarballs'), `exit ${code}\n${out}`);
    const [, back = ''] = /^To go back: (.*)$/m.exec(out) ?? [];
    await succeeds(copy, {}, 'sh', '-c', back);
    const { out: again } = await release(version);
    expect(!again.includes('FAULT'), `after ${back}\n${again}`);
    await git('reset', '--quiet', '--hard', before);
  });
  const made = join(copy, 'release', version);
  await step('npm run release --execute', async () => {
    const { code, out, err } = await release(version, '--execute');
    expect(code === 0, `exit ${code}\n${out}${err}`);
    expect((await git('status', '--porcelain')) === '', 'it leaves something uncommitted');
    const [newest, tagged] = await Promise.all([git('rev-parse', 'HEAD'), git('rev-parse', `${tag}^{}`)]);
    expect(newest === tagged, `${tag} is at ${tagged}`);
    const changed = await git('show', '--name-only', '--format=', tag);
    for (const file of ['CHANGELOG.md', 'package.json', 'package-lock.json', 'kits/python/pyproject.toml']) {
      expect(changed.split('\n').includes(file), `${file} is as before`);
    }
  });
  await step('its checksums are right', async () => {
    const sums = (await readFile(join(made, 'SHA256SUMS'), 'utf8')).trim().split('\n');
    for (const line of sums) {
      const [sum, file = ''] = line.split('  ');
      const hash = createHash('sha256')
        .update(await readFile(join(made, file)))
        .digest('hex');
      expect(hash === sum, `that of ${file} is ${hash}`);
    }
    expect(sums.length === 4, `there are ${sums.length}`);
  });
  await step('its wheel is installed by pip, and its page links to nothing that is not in it', async () => {
    const place = join(folder, 'python');
    const wheel = join(made, `advert_bridge-${version}-py3-none-any.whl`);
    await succeeds(folder, {}, 'python3', '-m', 'venv', place);
    await succeeds(folder, {}, join(place, 'bin/pip'), 'install', '--quiet', '--no-index', wheel);
    const program = `
import importlib.metadata, re
from advert_bridge import advert_event_handler
from advert_bridge.testing import InMemoryPositions, a_lambda_event, an_advert_history
handler = advert_event_handler(InMemoryPositions(), {"AdvertStatusChanged": lambda event: print(event.status)})
handler(a_lambda_event(an_advert_history(["new", "sold"])), None)
print(re.findall(r"\\]\\((?!https?:|#)[^)]*", str(importlib.metadata.metadata("advert-bridge").get_payload())))`;
    const printed = await succeeds(folder, {}, join(place, 'bin/python'), '-c', program);
    expect(printed === 'new\nsold\n[]', printed);
  });
  return { made, version };
}
