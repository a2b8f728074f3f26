import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const fetched = [
  // A name, perhaps with a version, where npm and its like take it from the registry; a path or a tarball is none.
  /\b(?:(?:npm|pnpm|yarn) (?:i|install|add)|pip install)\b[^\n`|]*[ '"](?:advert-bridge|advert-bridge-kit)(?![\w./*[-])/,
  /\bnpx\b[^\n`]*(?:-p|--package)[= ]+(?:advert-bridge|advert-bridge-kit)(?![\w./*[-])/,
  /\bnpx (?:--?[a-z-]+ )*(?:advert-bridge|advert-bridge-kit)@/,
  /"(?:advert-bridge|advert-bridge-kit)": "(?!file:|operators\/cli\/)/,
];
const faultsOf = (text: string) => text.split('\n').filter((line) => fetched.some((told) => told.test(line)));

// Neither name is ours on the npm registry: whoever followed such a sentence would run somebody else's code.
it('no page, message or kit installs our packages from a registry', () => {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  const texts = files
    .split('\n')
    .filter((file) => /\.(md|ts|cjs|json|py|toml)$/.test(file) && existsSync(file))
    .filter((file) => file !== 'test/docs/install.test.ts' && file !== 'package-lock.json');

  expect(texts.length).toBeGreaterThan(500);
  expect(
    texts.flatMap((file) => faultsOf(readFileSync(file, 'utf8')).map((line) => `${file}: ${line}`)),
  ).toEqual([]);
});

// zsh, the shell of macOS, hands a pasted comment over as arguments: `npm install ./x.tgz # the kit` installs `the` and `kit`.
it('no block of a page has a comment behind a command, or before one', () => {
  const commented = globSync('**/*.md', { exclude: ['node_modules', 'dist', 'cdk.out'] }).flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/^ *```sh\n([\s\S]*?)```/gm)]
      .flatMap(([, block = '']) => block.split('\n'))
      .filter((line) => /(^|\s)#(\s|$)/.test(line))
      .map((line) => `${page}: ${line}`),
  );

  expect(commented).toEqual([]);
});

it.each([
  ['npm install advert-bridge', true],
  ['npm install --save-dev advert-bridge-kit @aws-sdk/client-dynamodb', true],
  ['npx -p node@24 -p advert-bridge advert-bridge …', true],
  ['pip install advert-bridge', true],
  ['    "advert-bridge-kit": "^0.1.0"', true],
  ['npm install ./advert-bridge-[0-9]*.tgz', false],
  ['npx advert-bridge demo', false],
  ['    "advert-bridge-kit": "file:advert-bridge-kit.tgz"', false],
])('whether a line installs from a registry is seen: %s, %s', (line, isFault) => {
  expect(faultsOf(line)).toEqual(isFault ? [line] : []);
});
