/** Parses the body of an error answer, of any shape. Never throws. */
import * as v from 'valibot';
import { errorBodies, type Problem } from '../../contract/partner-service.ts';

export interface ErrorBody {
  /**
   * `own`: one of the service's own error shapes. `other`: other JSON, or plain text. `html`: a page of a proxy in
   * front of the service. `none`: empty, or not read.
   */
  readonly shape: 'own' | 'other' | 'html' | 'none';
  /** For programs, such as `invalid_token`. */
  readonly code?: string;
  /** Text for people, in any language. Not cleaned yet: clean it before you use it. */
  readonly text?: string;
}

/**
 * @param knownCodes some services put the code into the title, which is meant for people; a title counts as a code only
 * if it is one of these
 */
export function readErrorBody(body: string | undefined, knownCodes: ReadonlySet<string>): ErrorBody {
  const text = body?.replace(/^\ufeff/, '').trim();
  if (!text) return { shape: 'none' };
  if (text.startsWith('<')) return { shape: 'html' };
  const problem = problemIn(parsed(text));
  if (!problem) return { shape: 'other' };
  const titleCode = knownCodes.has(problem.title?.toLowerCase() ?? '') ? problem.title : undefined;
  const code = [problem.code, problem.type, titleCode].find(isCode);
  const said = sentence(problem, code);
  return {
    shape: 'own',
    ...(code === undefined ? {} : { code }),
    ...(said === '' ? {} : { text: said }),
  };
}

/** Null fields count as absent, which is what many services mean. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value) => (value === null ? undefined : value));
  } catch {
    return undefined;
  }
}

function problemIn(value: unknown): Partial<Problem> | undefined {
  const problem = fit(errorBodies.nested, value)?.data.error ?? fit(errorBodies.problem, value)?.error;
  if (problem) return isEmpty(problem) ? undefined : problem;
  const oauth = fit(errorBodies.oauth, value);
  // Web frameworks answer `{"status":404,"error":"Not Found","path":…}`; a real code has no spaces.
  if (oauth) {
    const { error: code, error_description, message } = oauth;
    return isCode(code) ? { code, message: error_description ?? message } : undefined;
  }
  const coded = fit(errorBodies.coded, value);
  return coded && isCode(coded.code) ? coded : undefined;
}

function fit<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> | undefined {
  const result = v.safeParse(schema, value);
  return result.success ? result.output : undefined;
}

const isEmpty = ({ validation = [], ...fields }: Problem): boolean =>
  validation.length === 0 && Object.values(fields).every((field) => field === undefined);

const isCode = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(text);

function sentence(
  { title, detail, message, validation = [] }: Partial<Problem>,
  code: string | undefined,
): string {
  const flaws = validation.map((flaw) => [flaw.field, flaw.detail ?? flaw.title].filter(Boolean).join(': '));
  const parts = [title, detail, message, ...flaws].filter((part) => part && part !== code);
  return [...new Set(parts)].join('; ');
}
