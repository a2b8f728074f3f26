/** What went wrong, as one message for a person that says what to do. */

import { CommandError, UsageError } from '../../operations/errors.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { secretNames } from '../../shared/contract/names.ts';
import { type FaultKind, PartnerError } from '../../shared/domain/faults.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { explainAws } from './explain-aws.ts';
import { commandFor, type Target } from './target.ts';

export interface Place {
  readonly target: Target;
  /** Where the partner service is, as far as this command knows. */
  readonly baseUrl?: string;
}

/** `error`, met while working on the bridge at `place`, as one whose message says what to do. */
export function explained(error: unknown, place: Place): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  const message = messageOf(error, place);
  if (message !== undefined) return new CommandError(message, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

function messageOf(error: unknown, place: Place): string | undefined {
  if (error instanceof StateError) return error.message;
  if (error instanceof ShapeError) return explainShape(error.message, place);
  if (error instanceof PartnerError) return explainFault(error, place);
  return place.target.kind === 'stack' ? explainAws(error) : undefined;
}

/** @param message names a place and its flaws, as that of a {@link ShapeError} */
export function explainShape(message: string, { target }: Place): string {
  const again = message.startsWith(`secret ${secretNames.partnerAccountPrefix}`)
    ? `Connect the partner account again: \`${commandFor(target, 'connect NAME')}\``
    : message.startsWith(`secret ${secretNames.application}`)
      ? `Store the application's credentials (again): \`${applicationCommand(target)}\``
      : 'It was left as it is';
  return `${message}. ${again}`;
}

export const applicationCommand = (target: Target): string =>
  commandFor(
    target,
    `application${target.kind === 'local' ? ' --base-url URL' : ''} --client-id ID --client-secret-stdin`,
  );

function explainFault(fault: PartnerError, place: Place): string {
  const explain = explanations[fault.code];
  return explain ? explain(fault, place) : `the partner service answered: ${fault.message}`;
}

type Explain = (fault: PartnerError, place: Place) => string;

const connectCommand = ({ target }: Place): string => `\`${commandFor(target, 'connect NAME')}\``;

const explanations: Partial<Record<FaultKind, Explain>> = {
  'grant-rejected': (_fault, place) =>
    'the partner service refused the refresh token: it was used up, revoked, not used for a month, or is of another ' +
    `application. Have the user authorize again: ${connectCommand(place)}`,
  'client-rejected': (_fault, { target }) =>
    'the partner service refused the client ID or the client secret. Store the right ones: ' +
    `\`${applicationCommand(target)}\``,
  'scope-refused': (fault) =>
    `the scope does not suffice: ${fault.message}. Have the user authorize the whole scope, or require less ` +
    '(setting requiredScope, --required-scope)',
  'other-user': (fault) =>
    `another user authorized than the one whose adverts are known under this name: ${fault.message}. Connect that user ` +
    'under another NAME, or give this one to that user with --new-user, which begins anew; if it is the same user after ' +
    'all, add --same-user',
  'account-busy': (fault) => fault.message,
  'generation-over': (fault) =>
    `${fault.message}: the name was given to another user, or forgotten, meanwhile. Give the command again for the new one`,
  'scope-insufficient': (fault) => `the token's scope does not suffice: ${fault.message}`,
  'wrong-path': (fault, place) =>
    `there is no partner service at ${urlOf(place)} (${fault.message}). Is the base URL right? ${baseUrlAdvice(place)}`,
  transient: (fault, place) =>
    `the partner service at ${urlOf(place)} cannot be reached, or does not answer as it should: ${fault.message}. ` +
    `Is it up, and is the base URL right? ${baseUrlAdvice(place)}`,
  'rate-limited': (fault) => `the partner service asks for fewer requests: ${waitOf(fault)}`,
  paused: (fault) => `no request is sent now, since the partner service asked for a pause: ${waitOf(fault)}`,
  forbidden: (fault) =>
    `the partner service forbids the request (${fault.message}): it may block this address for a while`,
  'contract-broken': (fault, place) =>
    `the partner service at ${urlOf(place)} answers in another form than agreed: ${fault.message}. Is the base URL right? ` +
    baseUrlAdvice(place),
  'invalid-request': (fault) => `the partner service takes the request for wrong: ${fault.message}`,
  'request-refused': (fault) => `the partner service refuses the request: ${fault.message}`,
  'malformed-state': (fault, place) => explainShape(fault.message, place),
};

const urlOf = ({ baseUrl, target }: Place): string =>
  baseUrl ?? (target.kind === 'stack' ? `the base URL of stack ${target.stack}` : 'its base URL');

const baseUrlAdvice = ({ target }: Place): string =>
  target.kind === 'local'
    ? `It is set by \`${commandFor(target, 'application --base-url URL …')}\``
    : 'It is the setting partnerBaseUrl of the stack';

function waitOf(fault: PartnerError): string {
  const seconds = Math.ceil((fault.retryAfterMs ?? 0) / 1000);
  return seconds > 0 ? `try again in ${seconds} s` : 'try again in a while';
}
