/** What an error means to an operator, with what mends it. */

import { StateError } from '../../../embedded/state/file/state-error.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { asBridgeFault, BridgeFault } from '../../../shared/domain/faults.ts';
import { quoted } from '../../../shared/domain/text.ts';
import { CommandError, type Problem, UsageError } from '../../operations/errors.ts';
import { filled } from '../../operations/findings/finding.ts';
import { faultProblem } from '../../operations/findings/findings.ts';
import problems from '../../operations/findings/problems.json' with { type: 'json' };
import { faultOfProfile } from './aws-profile.ts';
import type { Target } from './target.ts';

interface Explanation {
  readonly says: string;
  readonly mend: string;
}
/**
 * What the partner service does, by the kind of fault; errors of AWS, or of the network on the way there, by
 * `name code: message`, so that no module of the SDK is loaded: the first that fits decides.
 */
const { service, aws } = problems as unknown as {
  readonly service: Readonly<Record<string, Explanation>>;
  readonly aws: readonly (Explanation & {
    readonly pattern: string;
    readonly lacks?: 'credentials' | 'region';
  })[];
};

/** @param baseUrl of the partner service, if it is known */
export function explained(error: unknown, target: Target, baseUrl?: string): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  if (error instanceof BridgeFault && error.code === 'other-user')
    return new UsageError(`${error.message}. ${userAdvice}`, { cause: error });
  // Tokens and the rate budget are read during a request: what is wrong there is not a fault of the partner service.
  const causes = [error, (error as Error | undefined)?.cause];
  const denied = causes.find(isDenied);
  const own = causes.find((cause) => cause instanceof StateError) ?? error;
  const [says, mend] = denied ? denial(denied.message) : (problemOf(own, target, baseUrl) ?? []);
  if (says !== undefined)
    return new CommandError(says, { mend, cause: error, code: denied ? 'denied' : undefined });
  return error instanceof Error ? error : new Error(String(error));
}

function problemOf(error: unknown, target: Target, baseUrl: string | undefined): Problem | undefined {
  if (error instanceof StateError) return [error.says, error.mend];
  if (error instanceof ShapeError) return faultProblem(asBridgeFault(error).code, error.message, target);
  if (error instanceof BridgeFault) return problemOfFault(error, target, baseUrl);
  if (!(error instanceof Error) || target.kind === 'local') return undefined;
  const { name, message, code = '', $metadata } = error as AwsError;
  // A function's own error says what to do.
  if (name === 'FunctionError') return [message];
  for (const { pattern, lacks, ...problem } of aws) {
    const groups = new RegExp(pattern).exec(`${name} ${code}: ${message}`);
    if (!groups) continue;
    const facts = Object.fromEntries(
      Object.entries(groups.groups ?? {}).map(([group, text]) => [group, quoted(text)]),
    );
    const [says, mend] = (lacks && faultOfProfile(lacks)) ?? [
      problem.says,
      filled(problem.mend, facts, target),
    ];
    return [`${filled(says, facts, target)} (${code || message.split('\n')[0]})`, mend];
  }
  // Every answer of AWS has its request's metadata.
  return $metadata && [`AWS answered ${name}: ${message}`];
}

const userAdvice =
  'Nothing was stored. Connect another user under another NAME, or give this NAME away with --new-user, which begins ' +
  'anew. If it is the same user, add --same-user';

function problemOfFault(
  { code, message, retryAfterMs = 0, status = 0 }: BridgeFault,
  target: Target,
  baseUrl: string | undefined,
): Problem {
  // An answer of 5xx is one of the service at its base URL, or of what stands in front of it.
  const problem = service[code === 'transient' && status >= 500 ? 'own-fault' : code];
  if (!problem) return faultProblem(code, message, target) ?? [message];
  const facts = {
    message,
    at: baseUrl === undefined ? '' : ` at ${baseUrl}`,
    wait: retryAfterMs > 0 ? `${Math.ceil(retryAfterMs / 1000)} s` : 'a while',
    set:
      target.kind === 'local'
        ? `Set it with \`${target.command('application --base-url URL …')}\``
        : 'It is the setting partnerBaseUrl of the stack',
  };
  return [filled(problem.says, facts, target), filled(problem.mend, facts, target)];
}

interface AwsError extends Error {
  readonly code?: string;
  readonly $metadata?: object;
}

export const isDenied = (error: unknown): error is Error =>
  error instanceof Error && /^AccessDenied/.test(error.name);

function denial(message: string): Problem {
  const why = /secretsmanager:GetSecretValue/.test(message)
    ? 'Tokens are read by roles of the bridge alone, whatever yours is allowed: use the role of output CatchUpRoleArn. '
    : '';
  return [`AWS denies it: ${message}`, `${why}What a command has to be allowed: docs/operate/deploy.md`];
}
