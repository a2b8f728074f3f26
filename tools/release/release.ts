/**
 * Creates a release from main: version, changelog, released contract, tarballs and wheel with bill of materials and
 * checksums, and tag. Without --execute it changes nothing and prints what it would do.
 *
 *     npm run release -- 0.2.0
 *     npm run release -- 0.2.0 --execute
 *
 * @see docs/contribute/release.md
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isNewer, releasedChangelog, unreleasedOf } from './changelog.ts';
import { kitFolder, kitName } from './kit-package.ts';
import { wheelName, writePythonWheel } from './python-wheel.ts';
import { maxKb } from './size-budgets.ts';

interface Check {
  readonly what: string;
  /** What is wrong; undefined if nothing is. */
  readonly fault: string | undefined;
}
interface Step {
  readonly name: string;
  /** One line each, printed before the step runs and in a dry run. */
  readonly does: readonly string[];
  run(): void;
}

const repository = join(import.meta.dirname, '../..');
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { execute: { type: 'boolean' } },
});
const [version = ''] = positionals;
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('release: expected a version, as in `npm run release -- 0.2.0`');
  process.exit(2);
}

const inRepository = (path: string) => join(repository, path);
const read = (path: string) => readFileSync(inRepository(path), 'utf8');
const output = (program: string, ...args: string[]): string =>
  execFileSync(program, args, {
    cwd: repository,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
const run = (program: string, ...args: string[]): void => {
  execFileSync(program, args, { cwd: repository, stdio: ['ignore', 'ignore', 'inherit'] });
};
const manifest = JSON.parse(read('package.json'));
const tag = `v${version}`;
const folder = `release/${version}`;
const tarballs = [`advert-bridge-${version}.tgz`, `${kitName}-${version}.tgz`] as const;
const wheel = wheelName(version);
const sbom = `advert-bridge-${version}.sbom.cdx.json`;
/** Files that contain the version, in addition to package.json and package-lock.json. */
const versioned: readonly (readonly [string, RegExp])[] = [
  ['shared/partner-api/requests.ts', /(?<=clientVersion = ')[^']+/],
  ['kits/python/pyproject.toml', /(?<=^version = ")[^"]+/m],
];

const checks = (): readonly Check[] => {
  const branch = output('git', 'branch', '--show-current');
  const changed = output('git', 'status', '--porcelain').split('\n').filter(Boolean);
  return [
    { what: 'the branch is main', fault: branch === 'main' ? undefined : `it is ${branch || 'none'}` },
    {
      what: 'everything is committed',
      fault: changed.length === 0 ? undefined : `${changed.length} changes are not, such as ${changed[0]}`,
    },
    {
      what: `${version} is newer than ${manifest.version}`,
      fault: isNewer(version, manifest.version) ? undefined : 'it is not',
    },
    {
      what: `there is no tag ${tag}`,
      fault: output('git', 'tag', '--list', tag) === '' ? undefined : 'there is one',
    },
    {
      what: 'CHANGELOG.md says under Unreleased what is new',
      fault: unreleasedOf(read('CHANGELOG.md')) ? undefined : 'it says nothing',
    },
  ];
};

function setVersion(): void {
  run('npm', 'version', version, '--no-git-tag-version', '--ignore-scripts');
  for (const [file, place] of versioned) {
    const text = read(file);
    if (!place.test(text)) throw new Error(`${file} has no version`);
    writeFileSync(inRepository(file), text.replace(place, version));
  }
}

function pack(): void {
  rmSync(inRepository(folder), { recursive: true, force: true });
  mkdirSync(inRepository(folder), { recursive: true });
  // Not by npm, which runs no prepack where its configuration says `ignore-scripts=true`.
  run(process.execPath, 'tools/release/build-package.ts');
  const into = ['--ignore-scripts', '--loglevel=error', '--pack-destination', folder];
  run('npm', 'pack', ...into);
  run('npm', 'pack', `./${kitFolder}`, ...into);
  writePythonWheel(repository, inRepository(folder));
  copyFileSync(inRepository('dist/sbom.cdx.json'), inRepository(join(folder, sbom)));
  for (const [file, limit] of [
    [tarballs[0], maxKb.package],
    [tarballs[1], maxKb.kit],
  ] as const) {
    const kb = Math.round(statSync(inRepository(join(folder, file))).size / 1000);
    console.log(`       ${file}: ${kb} KB`);
    if (kb > limit) throw new Error(`${file} may have ${limit} KB (tools/release/size-budgets.ts)`);
  }
  for (const file of [...tarballs, wheel, sbom]) {
    const hash = createHash('sha256')
      .update(readFileSync(inRepository(join(folder, file))))
      .digest('hex');
    appendFileSync(inRepository(join(folder, 'SHA256SUMS')), `${hash}  ${file}\n`);
  }
}

const registry: string | undefined = manifest.publishConfig?.registry;
/** npmjs.org accepts a provenance statement only from these CI systems, and only from a public repository. */
const hasProvenance =
  registry === 'https://registry.npmjs.org/' &&
  Boolean(process.env.ACTIONS_ID_TOKEN_REQUEST_URL ?? process.env.SIGSTORE_ID_TOKEN);
const publishing = tarballs.map((file) => [
  ...['publish', `./${folder}/${file}`, '--access', 'public'],
  ...(hasProvenance ? ['--provenance'] : []),
]);

const publishRest = `Nobody can publish ${version} a second time, so do not go back. See what is there (npm view advert-bridge@${version}, npm view ${kitName}@${version}), and run what is missing: ${publishing.map((args) => `npm ${args.join(' ')}`).join('; ')}`;

const commit = (message: string) => {
  run('git', 'add', '--all');
  run('git', 'commit', '--quiet', '--message', message);
};
const steps: readonly Step[] = [
  {
    name: 'version',
    does: [`${version} in package.json, package-lock.json, ${versioned.map(([file]) => file).join(', ')}`],
    run: setVersion,
  },
  {
    name: 'changelog',
    does: [`CHANGELOG.md: what is under Unreleased becomes ${version}`],
    run: () => {
      const today = new Date().toISOString().slice(0, 10);
      writeFileSync(inRepository('CHANGELOG.md'), releasedChangelog(read('CHANGELOG.md'), version, today));
    },
  },
  {
    name: 'contract',
    does: ['npm run generate -- --release: from now on the schemas change by addition to these only'],
    run: () => run(process.execPath, 'tools/contract/generate.ts', '--release'),
  },
  { name: 'commit', does: [`Release ${version}`], run: () => commit(`Release ${version}`) },
  {
    name: 'tarballs',
    does: [`${folder}/: ${tarballs.join(', ')}, ${wheel}, ${sbom}, SHA256SUMS`],
    run: pack,
  },
  {
    name: 'tag',
    does: [`git tag --annotate ${tag}`],
    run: () => run('git', 'tag', '--annotate', tag, '--message', `Release ${version}`),
  },
  {
    name: 'publish',
    does: registry
      ? publishing.map((args) => `npm ${args.join(' ')}`)
      : [
          'nothing: package.json names no publishConfig.registry, for the names are not ours on the npm registry.',
          'With https://registry.npmjs.org/ there, and from GitHub Actions or GitLab: npm publish --provenance',
        ],
    run: () => {
      if (registry) for (const args of publishing) run('npm', ...args);
    },
  },
];

console.log(
  `Release ${version}${options.execute ? '' : ' (a dry run: nothing is changed; --execute does it)'}\n`,
);
const found = checks();
for (const { what, fault } of found)
  console.log(`${fault ? 'FAULT' : 'ok   '}  ${what}${fault ? `: ${fault}` : ''}`);
const isReady = found.every(({ fault }) => fault === undefined);
if (!isReady) process.exitCode = 1;
if (options.execute && !isReady) console.log('\nNothing was changed.');
else {
  const before = output('git', 'rev-parse', 'HEAD');
  console.log('');
  for (const { name, does, run: work } of steps) {
    console.log(`${options.execute ? '' : 'would  '}${name}: ${does.join(`\n${' '.repeat(7)}`)}`);
    if (!options.execute) continue;
    try {
      work();
    } catch (error) {
      console.log(`FAULT  ${name}: ${error instanceof Error ? error.message : error}`);
      // Everything was committed before, so all files unknown to git come from this run.
      const back = `git tag --delete ${tag}; git reset --hard ${before}; git clean --force -d`;
      console.log(name === 'publish' ? publishRest : `To go back: ${back}`);
      process.exit(1);
    }
  }
  console.log(
    `\n${options.execute ? 'Next' : 'Then'}: git push origin main ${tag}, hand on what is in ${folder}, and add a state file of it to test/released.`,
  );
}
