import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Instrumenter, type InstrumenterOptions } from '@stryker-mutator/instrumenter';

/** What is mutated: the use cases and all that they reach, down to the adapters. Handlers only wire, and need AWS. */
const sources = ['functions/**/*.ts', 'shared/{domain,aws,sqlite,partner-api}/**/*.ts'];

export interface Mutant {
  readonly id: string;
  readonly file: string;
  readonly line: number;
  /** What kind of change it is, by Stryker's names. @see https://stryker-mutator.io/docs/mutation-testing-elements/supported-mutators/ */
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

export interface Instrumented {
  /** By absolute path: the source with all its mutants in it, each behind a switch. */
  readonly code: ReadonlyMap<string, string>;
  readonly mutants: readonly Mutant[];
  /** Mutants left out, for they change nothing but the words of a log line or of an error. */
  readonly ignored: number;
}

/** @param only beginnings of the paths meant, relative to the root, with commas between them; default: all sources */
export async function instrument(only = ''): Promise<Instrumented> {
  const names = sources.flatMap((pattern) => globSync(pattern)).filter(isMeant(only));
  if (names.length === 0)
    throw new Error(`no source begins with ${only}: name a folder or a file such as shared/aws`);
  const files = names.sort().map((name) => ({
    name: path.resolve(name),
    mutate: true,
    content: readFileSync(name, 'utf8'),
  }));
  const result = await new Instrumenter(silent).instrument(files, {
    plugins: null,
    excludedMutations: [],
    ignorers: [{ shouldIgnore: textOnly }],
  } as InstrumenterOptions);
  const lines = new Map(files.map(({ name, content }) => [name, content.split('\n')]));
  const wanted = result.mutants.filter(({ status }) => status !== 'Ignored');
  return {
    code: new Map(result.files.map(({ name, content }) => [name, content])),
    ignored: result.mutants.length - wanted.length,
    mutants: wanted.map(({ id, fileName, location: { start, end }, mutatorName, replacement }) => ({
      id,
      file: path.relative('.', fileName),
      line: start.line + 1,
      mutator: mutatorName,
      original: textIn(lines.get(fileName) ?? [], start, end),
      replacement: replacement ?? '',
    })),
  };
}

const isMeant = (only: string) => (name: string) =>
  only.split(',').some((beginning) => name.startsWith(beginning)) && !/(^|\/)(handler|ports)\.ts$/.test(name);

const silent = {
  ...{ trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {} },
  ...{ isTraceEnabled: () => false, isDebugEnabled: () => false, isInfoEnabled: () => false },
  ...{ isWarnEnabled: () => false, isErrorEnabled: () => false, isFatalEnabled: () => false },
};

/** As much of a Babel path as is looked at here. */
interface NodePath {
  readonly node: Node;
  readonly parentPath: NodePath | null;
}
interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
  readonly callee?: { readonly object?: Named };
}
interface Named {
  readonly name?: string;
  readonly property?: Named;
}

/** The words of what is logged, and of what is thrown, are for people: no test is to repeat them. */
function textOnly({ node, parentPath }: NodePath): string | undefined {
  const text =
    node.type === 'TemplateLiteral' ? node.quasis?.map(({ value }) => value.raw).join('') : node.value;
  if (typeof text !== 'string' || !text.includes(' ')) return undefined;
  const { type, callee } = parentPath?.node ?? { type: '' };
  const isLogged = (callee?.object?.property ?? callee?.object)?.name === 'observer';
  return type === 'NewExpression' || isLogged ? 'the words of a log line or an error' : undefined;
}

interface Point {
  readonly line: number;
  readonly column: number;
}

function textIn(lines: readonly string[], start: Point, end: Point): string {
  const text = lines.slice(start.line, end.line + 1);
  const last = text.length - 1;
  text[last] = text[last]?.slice(0, end.column) ?? '';
  text[0] = text[0]?.slice(start.column) ?? '';
  return text.join('\n');
}
