/**
 * The packages as another team gets them: released, judged by publint and arethetypeswrong, installed from their tarballs
 * into new projects, and used there: README's snippets compile and run, and the command line answers.
 *
 *     npm run test:package        needs the npm registry, or a filled npm cache
 */
import { existsSync, globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { startDynamo } from '../helpers/aws/emulators.ts';
import { checkSbom } from './check-sbom.ts';
import { checkCdkVersions, checkCommonJs, checkDeclarations, checkJest29, nodeOf } from './kit.ts';
import { checkOrdered } from './ordered.ts';
import { makeRelease } from './release.ts';
import { compiles, expect, installs, run, step, steps, succeeds } from './steps.ts';

const repository = join(import.meta.dirname, '../..');
const { devDependencies, dependencies, engines, peerDependencies } = JSON.parse(
  await readFile(join(repository, 'package.json'), 'utf8'),
);
const folder = await mkdtemp(join(tmpdir(), 'advert-bridge-package-'));
const project = join(folder, 'project');
/** As in a shell of another team: nothing of this repository is on the path. */
const path = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((part) => !part.includes('node_modules'))
  .join(delimiter);
const bin = (name: string) => join(repository, 'node_modules/.bin', name);

const modern = '--module nodenext --target es2022 --types node';
const versioned = (name: string): string => `${name}@${devDependencies[name]}`;

/** Links of the pages in an unpacked package that lead to nothing in it. */
async function brokenLinks(installed: string): Promise<string[]> {
  const missing: string[] = [];
  for (const page of globSync('**/*.md', { cwd: installed, exclude: ['**/node_modules/**'] })) {
    const text = await readFile(join(installed, page), 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)) {
      if (!existsSync(join(installed, dirname(page), target))) missing.push(`${page}: ${target}`);
    }
  }
  return missing;
}

const dynamo = await startDynamo();
const aws = {
  AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: '000000000000',
  AWS_SECRET_ACCESS_KEY: 'test',
};
const atHome = { PATH: path };

try {
  await mkdir(project);
  const { made, version } = await makeRelease(repository, folder);
  const tarball = join(made, `advert-bridge-${version}.tgz`);
  const kit = join(made, `advert-bridge-kit-${version}.tgz`);
  await step("nothing that is nobody's business is in the tarballs", async () => {
    for (const packed of [tarball, kit]) {
      const files = (await succeeds(folder, {}, 'tar', '--list', '--file', packed)).split('\n');
      const isStray = /(^|\/)(test\/|sandbox\/(?!README\.md$)|infra\/(stack|app))|(?<!\.d)\.ts$/;
      const strays = files.filter((file) => isStray.test(file));
      expect(strays.length === 0, `inside ${packed}: ${strays.join(' ')}`);
    }
  });
  for (const packed of [tarball, kit]) {
    await step(`publint: ${basename(packed)}`, () =>
      succeeds(repository, {}, bin('publint'), 'run', '--strict', packed),
    );
    await step(`arethetypeswrong: ${basename(packed)}`, () =>
      succeeds(repository, {}, bin('attw'), packed, '--profile', 'strict'),
    );
  }
  const lowest = `${engines.node.replace('>=', '')}.0`;
  const withLowest = await nodeOf(lowest, folder, atHome);
  const starter = await readFile(join(repository, 'operators/cli/advert-bridge.cjs'), 'utf8');
  const lowestEmbedded = `${/embedded bridge needs Node ([\d.]+)/.exec(starter)?.[1]}.0`;
  // The other team's Node: it runs TypeScript as it is.
  const withNode24 = { PATH: `${dirname(process.execPath)}${delimiter}${path}` };

  const inProject = async () => {
    await step('both install into a new project', async () => {
      await writeFile(
        join(project, 'package.json'),
        JSON.stringify({ name: 'search', private: true, type: 'module' }),
      );
      const others = ['typescript', '@types/node', '@aws-sdk/client-dynamodb', 'aws-cdk-lib', 'constructs'];
      await installs(project, atHome, tarball, kit, ...others.map(versioned));
    });
    await step('each brings the schema library and nothing else', async () => {
      for (const name of ['advert-bridge', 'advert-bridge-kit']) {
        const manifest = join(project, 'node_modules', name, 'package.json');
        const { dependencies: own, optionalDependencies } = JSON.parse(await readFile(manifest, 'utf8'));
        const brought = Object.keys({ ...own, ...optionalDependencies }).join(' ');
        expect(brought === 'valibot' && Object.keys(dependencies).length === 1, `${name} brings ${brought}`);
      }
    });
    await step('none of them puts its own Node before that of the project', async () => {
      const scripts = { which: 'node --version' };
      const own = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'));
      await writeFile(join(project, 'package.json'), JSON.stringify({ ...own, scripts }));
      const version = await succeeds(project, withLowest, 'npm', 'run', '--silent', 'which');
      expect(version === `v${lowest}`, `the project runs on ${version}`);
    });
    await step('its bill of materials names what is inside it', async () => {
      const installed = join(project, 'node_modules/advert-bridge');
      const sbom = JSON.parse(await readFile(join(installed, 'dist/sbom.cdx.json'), 'utf8'));
      const licenses = await readFile(join(installed, 'dist/cli/THIRD-PARTY-LICENSES.txt'), 'utf8');
      checkSbom(sbom, { version, licenses, dependencies: Object.keys(dependencies) });
    });
    await step("README's snippets compile there", async () => {
      const files = ['test/docs/subscribe.ts', 'test/docs/handle.ts', 'test/package/fresh/run.ts'];
      for (const file of files) await cp(join(repository, file), join(project, file));
      const flags = `${modern} --rootDir test --outDir out --rewriteRelativeImportExtensions`;
      await compiles(project, atHome, flags, 'test/package/fresh/run.ts');
    });
    await step(`and run, with Node ${lowest}`, () =>
      succeeds(project, { ...withLowest, ...aws }, 'node', 'out/package/fresh/run.js'),
    );
    await step('a stack with AdvertSubscription compiles there and runs', async () => {
      const file = 'test/docs/subscription-elsewhere.ts';
      await cp(join(repository, file), join(project, file));
      await compiles(project, atHome, `${modern} --skipLibCheck false --rootDir test --outDir out`, file);
      await succeeds(project, atHome, 'node', 'out/docs/subscription-elsewhere.js');
    });
    await step('every snippet of the pages compiles there', async () => {
      const others = ['@types/aws-lambda', '@aws-sdk/client-sqs'];
      await installs(project, atHome, ...others.map(versioned));
      const files = globSync('test/docs/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] });
      for (const file of files) await cp(join(repository, file), join(project, file));
      const flags = '--noEmit --skipLibCheck --module nodenext --target es2024 --types node';
      await compiles(project, atHome, flags, ...files);
    });
    await step('its pages link only to what it has, as those of the kit', async () => {
      for (const name of ['advert-bridge', 'advert-bridge-kit']) {
        const missing = await brokenLinks(join(project, 'node_modules', name));
        expect(missing.length === 0, `${name}\n${missing.join('\n')}`);
      }
    });
    await step('the kit contains its guide, the schemas and the vectors', async () => {
      const docs = join(project, 'node_modules/advert-bridge-kit/docs');
      const files = ['subscribe/guide.md', 'subscribe/vectors.json', 'schemas/AdvertBridgeEvent.schema.json'];
      const missing = files.filter((file) => !existsSync(join(docs, file)));
      expect(missing.length === 0, missing.join('\n'));
    });
    await step(`npx advert-bridge --help, with Node ${lowest}`, async () => {
      const help = await succeeds(project, withLowest, 'npx', 'advert-bridge', '--help');
      expect(help.startsWith('Usage: advert-bridge'), help);
      expect(help.includes('\n  npx advert-bridge demo'), `its examples are not called so\n${help}`);
    });
    await step(`npx advert-bridge demo, with Node ${lowestEmbedded}`, async () => {
      const withEmbedded = await nodeOf(lowestEmbedded, folder, atHome);
      const events = await succeeds(project, withEmbedded, 'npx', 'advert-bridge', 'demo', '--changes', '10');
      expect(events.split('\n').length === 10, `it printed these events:\n${events}`);
    });
    await step('npx advert-bridge status --local: state that is not there', async () => {
      const status = ['advert-bridge', 'status', '--local', './state'];
      const { code, err } = await run(project, atHome, 'npx', ...status);
      expect(code === 1 || code === 2, `exit ${code}\n${err}`);
      expect(!/unexpected|at .*:\d+:\d+/.test(err), err);
    });
    await step('npx advert-bridge status: the SDK inside it, and a stack that is not there', async () => {
      const nowhere = { ...atHome, ...aws, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' };
      const { code, err } = await run(project, nowhere, 'npx', 'advert-bridge', 'status');
      expect(code === 1 && err.includes('AWS cannot be reached'), `exit ${code}\n${err}`);
    });
  };
  const ofExample = async (name: string) => {
    const example = join(folder, name);
    await step(`docs/examples/${name}: copied out of the repository, its tests pass`, async () => {
      await cp(join(repository, 'docs/examples', name), example, { recursive: true });
      await cp(kit, join(example, 'advert-bridge-kit.tgz'));
      await installs(example, withNode24);
      await succeeds(example, withNode24, 'npx', 'tsc', '-p', '.');
      await succeeds(example, withNode24, 'npm', 'test');
    });
    await step(`docs/examples/${name}: … and it synthesizes`, async () => {
      const template = await succeeds(example, withNode24, 'npx', 'cdk', 'synth', '--no-notices');
      expect(template.includes('AWS::Events::Rule'), template);
    });
  };
  const fromNothing = async () => {
    const empty = join(folder, 'empty');
    await mkdir(empty);
    await cp(tarball, join(empty, basename(tarball)));
    await step(
      'from an empty folder, npx of the tarball runs the demo to 20 events, whatever Node is there',
      async () => {
        const demo = ['--yes', `./${basename(tarball)}`, 'demo', '--changes', '20'];
        const events = (await succeeds(empty, withLowest, 'npx', ...demo)).split('\n');
        const types = new Set(events.map((line) => JSON.parse(line)['detail-type']));
        expect(events.length === 20 && [...types].join() === 'AdvertStatusChanged', events.join('\n'));
        expect((await readdir(empty)).length === 1, 'it leaves something there');
      },
    );
    await step('npx --package of the tarball: hints are written so', async () => {
      const npx = ['--yes', '--package', tarball, 'advert-bridge'];
      const { code, err } = await run(empty, withNode24, 'npx', ...npx, 'status', '--local', 'state');
      const command = `npx --package ${tarball} advert-bridge application`;
      expect(code === 1 && err.includes(command), `exit ${code}\n${err}`);
    });
  };
  // Side by side: most of the time npm waits for the registry.
  await Promise.all([
    inProject(),
    checkCommonJs({ repository, folder, kit, env: withLowest }, versioned),
    checkDeclarations({ repository, folder, kit, env: withNode24 }, versioned),
    checkCdkVersions({ repository, folder, kit, env: withNode24 }, { tarball, peers: peerDependencies }),
    checkJest29({ repository, folder, kit, env: withNode24 }, { tarball, peers: peerDependencies }),
    checkOrdered({ repository, folder, kit, env: { ...withNode24, ...aws } }, versioned, dynamo),
    ofExample('minimal').then(() => ofExample('search-index')),
    fromNothing(),
  ]);
} finally {
  await dynamo.stop();
  await rm(folder, { recursive: true, force: true });
}
steps.end('package');
