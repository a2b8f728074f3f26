import {
  applicationWords,
  CommandError,
  connectWords,
  textOfPlace,
  UsageError,
} from '../../operations/errors.ts';
import { faultText } from '../../operations/findings.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { BridgeFault, type FaultKind } from '../../shared/domain/faults.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { explainAws, explainDenied, isDenied } from './explain-aws.ts';
import { commandFor, mendsAt, type Target } from './target.ts';

export interface Place {
  readonly target: Target;
  baseUrl?: string | undefined;
  /** The role with the command's permissions, if the stack has one. */
  catchUpRoleArn?: string;
}

export function explained(error: unknown, place: Place): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  if (error instanceof BridgeFault && error.code === 'other-user')
    return new UsageError(`${error.message}. ${userAdvice}`, { cause: error });
  const message = messageOf(error, place);
  if (message !== undefined) return new CommandError(message, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

function messageOf(error: unknown, place: Place): string | undefined {
  if (error instanceof StateError) return error.message;
  if (error instanceof ShapeError) return faultText('malformed-state', error.message, mendsAt(place.target));
  if (error instanceof BridgeFault) {
    // Tokens are read during a request. If AWS denies that, it is not a fault of the partner service.
    if (isDenied(error.cause)) return explainDenied(error.cause, place.catchUpRoleArn);
    const { code, message } = error;
    const says = explanations[code]?.(error, place) ?? faultText(code, message, mendsAt(place.target));
    return says ?? `the partner service answered: ${message}`;
  }
  return place.target.kind === 'stack' ? explainAws(error, place.catchUpRoleArn) : undefined;
}

export const applicationCommand = (target: Target): string =>
  commandFor(target, applicationWords(target.kind));

export const connectCommand = (target: Target, name: string): string =>
  commandFor(target, connectWords(name));

const explanations: Partial<Record<FaultKind, (fault: BridgeFault, place: Place) => string>> = {
  'operator-paused': ({ message }, { target }) =>
    `${message}. To end the pause: \`${commandFor(target, 'resume [NAME]')}\``,
  'account-busy': ({ message }) => message,
  'generation-over': ({ message }) =>
    `${message}: meanwhile the name was given to another user, or forgotten. Give the command again`,
  transient: ({ message }, place) =>
    `the partner service at ${urlOf(place)} cannot be reached, or does not answer as it should: ${message}. ` +
    `Is it up? ${baseUrlAdvice(place)}`,
  'rate-limited': (fault) => `the partner service asks for fewer requests: ${waitOf(fault)}`,
  paused: (fault) => `nothing is sent now, since the partner service asked for a pause: ${waitOf(fault)}`,
  forbidden: (fault) =>
    `the partner service forbids the request (${fault.message}): it may block this address for a while. Find out who else sends from here, and ${waitOf(fault)}`,
  'contract-broken': ({ message }, place) =>
    `the partner service at ${urlOf(place)} answers in another form than agreed: ${message}. ${baseUrlAdvice(place)}`,
  'invalid-request': ({ message }) =>
    `the partner service rejects the request as invalid: ${message}. Check what you gave; if that is right, ask the service`,
  'request-refused': ({ message }) =>
    `the partner service refuses the request: ${message}. Ask the service why; then give the command again`,
};

const userAdvice =
  'Nothing was stored. Connect another user under another NAME, or give this NAME away with --new-user, which begins ' +
  'anew. If it is the same user, add --same-user';

const urlOf = ({ baseUrl, target }: Place): string =>
  baseUrl ?? (target.kind === 'stack' ? `the base URL of stack ${textOfPlace(target)}` : 'its base URL');

const baseUrlAdvice = ({ target }: Place): string =>
  target.kind === 'local'
    ? `Is the base URL right? Set it with \`${commandFor(target, 'application --base-url URL …')}\``
    : 'Is the base URL right? It is the setting partnerBaseUrl of the stack';

const waitOf = ({ retryAfterMs = 0 }: BridgeFault): string =>
  retryAfterMs > 0 ? `try again in ${Math.ceil(retryAfterMs / 1000)} s` : 'try again in a while';
