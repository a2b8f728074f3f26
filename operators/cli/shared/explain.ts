/** What an error means to an operator, with what mends it. */

import { StateError } from '../../../embedded/state/file/state-error.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { asBridgeFault, BridgeFault } from '../../../shared/domain/faults.ts';
import problems from '../../../shared/findings/problems.json' with { type: 'json' };
import { filled, type Remedy, remedied } from '../../../shared/findings/sentences.ts';
import { CommandError, type Problem, UsageError } from '../../operations/errors.ts';
import { faultProblem } from '../../operations/findings/findings.ts';
import { type AwsFault, awsFaultOf, denialOf } from './aws-fault.ts';
import type { Target } from './target.ts';

/** What the partner service does, by the kind of fault. */
const service: Readonly<Record<string, { readonly says: string; readonly mend: Remedy }>> = problems.service;

/** @param baseUrl of the partner service, if it is known */
export function explained(error: unknown, target: Target, baseUrl?: string): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  if (error instanceof BridgeFault && error.code === 'other-user')
    return new UsageError(problemOfFault(error, target, baseUrl).join('. '), { cause: error });
  // Tokens and the rate budget are read during a request: what is wrong there is not a fault of the partner service.
  const denial = denialOf(error);
  const own =
    [error, (error as Error | undefined)?.cause].find((cause) => cause instanceof StateError) ?? error;
  const problem = denial ? awsProblem(denial, target) : problemOfError(own, target, baseUrl);
  if (problem)
    return new CommandError(problem[0], { mend: problem[1], cause: error, code: denial && 'denied' });
  return error instanceof Error ? error : new Error(String(error));
}

function problemOfError(error: unknown, target: Target, baseUrl: string | undefined): Problem | undefined {
  if (error instanceof StateError) return [error.says, error.mend];
  if (error instanceof ShapeError) return faultProblem(asBridgeFault(error).code, error.message, target);
  if (error instanceof BridgeFault) return problemOfFault(error, target, baseUrl);
  if (!(error instanceof Error) || target.kind === 'local') return undefined;
  // A function's own error says what to do.
  if (error.name === 'FunctionError') return [error.message];
  const fault = awsFaultOf(error);
  return fault && awsProblem(fault, target);
}

function awsProblem({ code, facts }: AwsFault, target: Target): Problem {
  const { says, mend } = problems.aws[code];
  return [filled(says, facts, target), filled(mend, facts, target) || undefined];
}

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
    baseUrl,
    wait: retryAfterMs > 0 ? `${Math.ceil(retryAfterMs / 1000)} s` : 'a while',
  };
  return [filled(problem.says, facts, target), remedied(problem.mend, facts, target) ?? undefined];
}
