/** Reads the body of an error answer, whatever its shape. Never throws. */
import * as v from 'valibot';
import { errorBodies } from '../../contract/partner-service.ts';

export interface ErrorBody {
  /**
   * `own`: one of the shapes in which the service tells its errors. `other`: JSON of another kind, plain text.
   * `html`: a page of whatever stands in front of the service. `none`: empty, or not read.
   */
  readonly shape: 'own' | 'other' | 'html' | 'none';
  /** For programs, such as `invalid_token`. */
  readonly code?: string;
  /** For people, in any language. As it came: clean it before it goes anywhere. */
  readonly text?: string;
}

interface Problem {
  readonly code?: string;
  readonly type?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly message?: string;
  readonly status?: number | string;
  readonly validation?: readonly {
    readonly field?: string;
    readonly title?: string;
    readonly detail?: string;
  }[];
}

/** @param knownCodes titles are for people, but some services put the code there: only a known one is taken for it */
export function readErrorBody(body: string | undefined, knownCodes: ReadonlySet<string>): ErrorBody {
  const text = body?.replace(/^\ufeff/, '').trim();
  if (!text) return { shape: 'none' };
  if (text.startsWith('<')) return { shape: 'html' };
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return { shape: 'other' };
  const problem = problemIn(value);
  if (!problem) return { shape: 'other' };
  const code = [problem.code, problem.type, ifKnown(problem.title, knownCodes)].find(isCode);
  const said = sentence(problem, code);
  return {
    shape: 'own',
    ...(code === undefined ? {} : { code }),
    ...(said === '' ? {} : { text: said }),
  };
}

/** Fields that are null count as not there: so do many services mean it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value) => (value === null ? undefined : value));
  } catch {
    return undefined;
  }
}

function problemIn(value: object): Problem | undefined {
  const nested = fit(errorBodies.nested, value);
  const problem = nested?.data.error ?? fit(errorBodies.problem, value)?.error;
  if (problem) return isEmpty(problem) ? undefined : problem;
  const oauth = fit(errorBodies.oauth, value);
  // `{"status":404,"error":"Not Found","path":…}` is how web frameworks answer; a code has no spaces.
  if (oauth) return isCode(oauth.error) ? { code: oauth.error, ...toMessage(oauth) } : undefined;
  const coded = fit(errorBodies.coded, value);
  return coded && isCode(coded.code) ? coded : undefined;
}

const toMessage = (body: { error_description?: string; message?: string }) => {
  const message = body.error_description ?? body.message;
  return message === undefined ? {} : { message };
};

/**
 * `value` in the shape of `schema`. What is wrong in a field that need not be there costs that field only: the code
 * beside it still counts.
 */
function fit<S extends v.GenericSchema>(schema: S, value: object): v.InferOutput<S> | undefined {
  const first = v.safeParse(schema, value);
  if (first.success) return first.output;
  // Each field once: a hostile body can have as many issues as it has bytes.
  const paths = new Map(first.issues.map(fieldOf).map((path) => [path.join('.'), path]));
  const second = v.safeParse(
    schema,
    [...paths.values()].reduce<object>((rest, path) => without(rest, path), value),
  );
  return second.success ? second.output : undefined;
}

/** The field of a problem that an issue costs: of a flaw in `validation` all of it. */
function fieldOf({
  path = [],
}: {
  readonly path?: readonly { readonly key?: unknown }[] | undefined;
}): string[] {
  const keys = path.map(({ key }) => String(key));
  const at = keys.indexOf('validation');
  return at < 0 ? keys : keys.slice(0, at + 1);
}

/** A copy without the field at `path`; a fault deeper within a problem costs the problem's field. */
function without(value: object, [key = '', ...rest]: readonly string[]): object {
  const { [key]: child, ...others } = value as Record<string, unknown>;
  const isField = rest.length === 0 || key === 'validation' || typeof child !== 'object' || child === null;
  return isField ? others : { ...others, [key]: without(child, rest) };
}

const isEmpty = (problem: Problem): boolean =>
  [problem.code, problem.type, problem.title, problem.detail, problem.message, problem.status].every(
    (field) => field === undefined,
  ) && !problem.validation?.length;

const isCode = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(text);

const ifKnown = (title: string | undefined, known: ReadonlySet<string>) =>
  title !== undefined && known.has(title.toLowerCase()) ? title : undefined;

function sentence({ title, detail, message, validation = [] }: Problem, code: string | undefined): string {
  const flaws = validation.map((flaw) => [flaw.field, flaw.detail ?? flaw.title].filter(Boolean).join(': '));
  const parts = [title, detail, message, ...flaws].filter((part) => part && part !== code);
  return [...new Set(parts)].join('; ');
}
