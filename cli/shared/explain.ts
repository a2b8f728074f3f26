/** Explains errors as one message that says what to do. */

import {
  applicationWords,
  CommandError,
  connectWords,
  textOfPlace,
  UsageError,
} from '../../operations/errors.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { isAboutSecret } from '../../shared/contract/names.ts';
import { type FaultKind, PartnerError } from '../../shared/domain/faults.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { explainAws, explainDenied, isDenied } from './explain-aws.ts';
import { commandFor, type Target } from './target.ts';

export interface Place {
  readonly target: Target;
  /** Base URL of the partner service; undefined until the command knows it. */
  baseUrl?: string | undefined;
  /** The role with the command's permissions, if the stack has one. */
  catchUpRoleArn?: string;
}

/** Converts `error`, which occurred while working on the bridge at `place`, into one whose message says what to do. */
export function explained(error: unknown, place: Place): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  const message = messageOf(error, place);
  if (message !== undefined) return new CommandError(message, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

function messageOf(error: unknown, place: Place): string | undefined {
  if (error instanceof StateError) return error.message;
  if (error instanceof ShapeError) return explainShape(error.message, place);
  if (error instanceof PartnerError) {
    // Tokens are read during a request. If AWS denies that, it is not a fault of the partner service.
    return isDenied(error.cause)
      ? explainDenied(error.cause, place.catchUpRoleArn)
      : explainFault(error, place);
  }
  return place.target.kind === 'stack' ? explainAws(error, place.catchUpRoleArn) : undefined;
}

/** @param message names a place and its faults, like that of a {@link ShapeError} */
export function explainShape(message: string, { target }: Place): string {
  if (isAboutSecret(message, 'partnerAccountPrefix')) {
    return `${message}. Connect the partner account again: \`${commandFor(target, 'connect NAME')}\``;
  }
  if (isAboutSecret(message, 'application')) {
    return `${message}. Store the application's credentials (again): \`${applicationCommand(target)}\``;
  }
  return `${message}. Nothing was changed`;
}

export const applicationCommand = (target: Target): string =>
  commandFor(target, applicationWords(target.kind));

/** Sends a user through the consent page again. */
export const connectCommand = (target: Target, name: string): string =>
  commandFor(target, connectWords(name));

function explainFault(fault: PartnerError, place: Place): string {
  const explain = explanations[fault.code];
  return explain ? explain(fault, place) : `the partner service answered: ${fault.message}`;
}

const explanations: Partial<Record<FaultKind, (fault: PartnerError, place: Place) => string>> = {
  'grant-rejected': (_fault, { target }) =>
    'the partner service refused the refresh token: it was used up, revoked, not used for a month, or belongs to another ' +
    `application. Have the user authorize again: \`${commandFor(target, 'connect NAME')}\``,
  'client-rejected': (_fault, { target }) =>
    'the partner service refused the client ID or the client secret. Store the right ones: ' +
    `\`${applicationCommand(target)}\``,
  'operator-paused': ({ message }, { target }) =>
    `${message}. To end the pause: \`${commandFor(target, 'resume [NAME]')}\``,
  'scope-refused': (fault) =>
    `the user granted too little: ${fault.message}. Have the user allow the whole scope, or require less ` +
    '(setting requiredScope, --required-scope)',
  'other-user': (fault) =>
    `another user authorized than the one whose adverts are known under this name: ${fault.message}. Connect that user ` +
    'under another NAME, or give this NAME to that user with --new-user, which begins anew. If it is the same user after ' +
    'all, add --same-user',
  'account-busy': (fault) => fault.message,
  'generation-over': (fault) =>
    `${fault.message}: meanwhile the name was given to another user, or forgotten. Give the command again`,
  'scope-insufficient': (fault) => `the token's scope is too small: ${fault.message}`,
  'wrong-path': (fault, place) =>
    `there is no partner service at ${urlOf(place)} (${fault.message}). ${baseUrlAdvice(place)}`,
  transient: (fault, place) =>
    `the partner service at ${urlOf(place)} cannot be reached, or does not answer as it should: ${fault.message}. ` +
    `Is it up? ${baseUrlAdvice(place)}`,
  'rate-limited': (fault) => `the partner service asks for fewer requests: ${waitOf(fault)}`,
  paused: (fault) => `nothing is sent now, since the partner service asked for a pause: ${waitOf(fault)}`,
  forbidden: (fault) =>
    `the partner service forbids the request (${fault.message}): it may block this address for a while`,
  'contract-broken': (fault, place) =>
    `the partner service at ${urlOf(place)} answers in another form than agreed: ${fault.message}. ${baseUrlAdvice(place)}`,
  'invalid-request': (fault) => `the partner service rejects the request as invalid: ${fault.message}`,
  'request-refused': (fault) => `the partner service refuses the request: ${fault.message}`,
  'malformed-state': (fault, place) => explainShape(fault.message, place),
};

const urlOf = ({ baseUrl, target }: Place): string =>
  baseUrl ?? (target.kind === 'stack' ? `the base URL of stack ${textOfPlace(target)}` : 'its base URL');

const baseUrlAdvice = ({ target }: Place): string =>
  'Is the base URL right? ' +
  (target.kind === 'local'
    ? `Set it with \`${commandFor(target, 'application --base-url URL …')}\``
    : 'It is the setting partnerBaseUrl of the stack');

function waitOf({ retryAfterMs = 0 }: PartnerError): string {
  return retryAfterMs > 0 ? `try again in ${Math.ceil(retryAfterMs / 1000)} s` : 'try again in a while';
}
