import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

/** Where each part of the tree may import from: imports point inward. `node:` and packages are listed by name. */
const rules: Record<string, { inside: string[]; packages: RegExp }> = {
  'shared/contract': { inside: [], packages: /^valibot$/ },
  'shared/domain': { inside: ['shared/contract'], packages: /^$/ },
  'shared/partner-api': {
    inside: ['shared/contract', 'shared/domain', 'ports'],
    packages: /^node:|^valibot$/,
  },
  'functions/backfill': { inside: ['shared/contract', 'shared/domain'], packages: /^$/ },
  'functions/drain': { inside: ['shared/contract', 'shared/domain', 'shared/partner-api'], packages: /^$/ },
  'functions/fan-out': { inside: ['shared/contract', 'shared/domain', 'shared/partner-api'], packages: /^$/ },
  'functions/refresh-token': {
    inside: ['shared/contract', 'shared/domain', 'shared/partner-api'],
    packages: /^$/,
  },
  'shared/in-memory': {
    inside: ['shared/contract', 'shared/domain', 'ports', 'budget'],
    packages: /^node:crypto$/,
  },
  'shared/embedded': { inside: ['shared/contract', 'shared/domain', 'ports', 'budget'], packages: /^node:/ },
  'shared/aws': {
    inside: ['shared/contract', 'shared/domain', 'ports', 'budget'],
    packages: /^node:|^@aws-sdk\/|^@smithy\/|^aws-lambda$|^valibot$/,
  },
  subscriber: { inside: ['shared/contract'], packages: /^node:crypto$|^valibot$/ },
  infra: { inside: ['shared/contract'], packages: /^node:|^aws-cdk-lib|^constructs$|^cdk-nag$|^valibot$/ },
  sandbox: { inside: [], packages: /^node:/ },
};

/** A handler wires its stage to the world, so it may import everything shared; nothing imports a handler. */
const isHandler = (file: string) => /^functions\/[^/]+\/handler\.ts$/.test(file);

const named: Record<string, (file: string) => boolean> = {
  ports: (file) => /(^|\/)ports\.ts$/.test(file),
  budget: (file) => file === 'shared/domain/rate-budget.ts',
};

const importsOf = (file: string): string[] =>
  [
    ...(file.endsWith('.ts') ? readFileSync(file, 'utf8') : '').matchAll(
      /(?:from|import)\s+'([^']+)'|import\('([^']+)'\)/g,
    ),
  ].map((match) => (match[1] ?? match[2]) as string);

describe('imports', () => {
  for (const [folder, { inside, packages }] of Object.entries(rules)) {
    it(`of ${folder} point inward`, () => {
      const files = globSync(`${folder}/**/*.ts`).filter((file) => !isHandler(file));

      const strays = files.flatMap((file) =>
        importsOf(file)
          .filter((target) => {
            if (!target.startsWith('.')) return !packages.test(target);
            const resolved = path.normalize(path.join(path.dirname(file), target));
            const allowed = [folder, ...inside].some(
              (part) => named[part]?.(resolved) ?? resolved.startsWith(`${part}/`),
            );
            return !allowed || isHandler(resolved);
          })
          .map((target) => `${file} imports ${target}`),
      );

      expect(files).not.toHaveLength(0);
      expect(strays).toEqual([]);
    });
  }

  it('of advert-bridge/cdk bring nothing of the bridge’s own stack into another team’s app', () => {
    const reached = new Set<string>(['infra/cdk.ts']);
    for (const file of reached) {
      for (const target of importsOf(file)) {
        reached.add(target.startsWith('.') ? path.join(path.dirname(file), target) : target);
      }
    }
    const [files, packages] = [true, false].map((isFile) =>
      [...reached].filter((name) => name.endsWith('.ts') === isFile),
    );

    expect(packages?.filter((name) => !/^(aws-cdk-lib|constructs$|valibot$)/.test(name))).toEqual([]);
    expect(
      files?.filter(
        (name) =>
          !/^infra\/cdk\.ts$|^infra\/constructs\/(advert-)?(subscription|bridge-bus)|^shared\/contract\//.test(
            name,
          ),
      ),
    ).toEqual([]);
  });
});
