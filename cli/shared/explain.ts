/** What an error means to an operator, with what mends it. */
import { applicationWords, CommandError, connectWords, UsageError } from '../../operations/errors.ts';
import { faultText } from '../../operations/findings.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { BridgeFault, type FaultKind } from '../../shared/domain/faults.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { commandFor, mendsAt, type Target } from './target.ts';

/** Facts for messages, which are added as they become known. */
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
    if (isDenied(error.cause)) return deniedText(error.cause, place);
    const { code, message } = error;
    const says = ofFaults[code]?.(error, place) ?? faultText(code, message, mendsAt(place.target));
    return says ?? `the partner service answered: ${message}`;
  }
  if (!(error instanceof Error) || place.target.kind === 'local') return undefined;
  const { name, message, code = '', $metadata } = error as AwsError;
  const [, says] = ofAws.find(([pattern]) => pattern.test(`${name} ${code}: ${message}`)) ?? [];
  // Every answer of AWS has its request's metadata.
  return says?.(error, place) ?? ($metadata && `AWS answered ${name}: ${message}`);
}

export const applicationCommand = (target: Target): string =>
  commandFor(target, applicationWords(target.kind));

export const connectCommand = (target: Target, name: string): string =>
  commandFor(target, connectWords(name));

const ofFaults: Partial<Record<FaultKind, (fault: BridgeFault, place: Place) => string>> = {
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
  baseUrl ?? (target.kind === 'stack' ? `the base URL of stack ${target.stack}` : 'its base URL');

const baseUrlAdvice = ({ target }: Place): string =>
  target.kind === 'local'
    ? `Is the base URL right? Set it with \`${commandFor(target, 'application --base-url URL …')}\``
    : 'Is the base URL right? It is the setting partnerBaseUrl of the stack';

const waitOf = ({ retryAfterMs = 0 }: BridgeFault): string =>
  retryAfterMs > 0 ? `try again in ${Math.ceil(retryAfterMs / 1000)} s` : 'try again in a while';

interface AwsError extends Error {
  readonly code?: string;
  readonly $metadata?: object;
}

/**
 * Errors of AWS, or of the network on the way there, by `name code: message`, so that no module of the SDK is loaded. The
 * first that fits decides.
 */
const ofAws: readonly (readonly [RegExp, (error: AwsError, place: Place) => string])[] = [
  [
    /^CredentialsProviderError/,
    ({ message }) =>
      `no AWS credentials were found (${message.split('\n')[0]}). Sign in, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. ${orLocal}`,
  ],
  [
    /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|AuthFailure|TokenProviderError)/,
    ({ name }) =>
      `AWS refused the credentials (${name}): they have expired, or are wrong. Sign in again, for example with \`aws sso login\``,
  ],
  [
    /^\w+ \w*: Region is missing/,
    () => `no AWS region is set. Set AWS_REGION, such as AWS_REGION=eu-central-1. ${orLocal}`,
  ],
  [/^AccessDenied/, (error, place) => deniedText(error, place)],
  [
    /^(TimeoutError |\w+ (ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE))/,
    ({ name, code = name }) => {
      const endpoint = process.env.AWS_ENDPOINT_URL;
      return endpoint
        ? `AWS cannot be reached at ${endpoint} (${code}). Is AWS_ENDPOINT_URL right, and is something listening there?`
        : `AWS cannot be reached (${code}). Check the network and AWS_REGION`;
    },
  ],
  [
    // DynamoDB's whole message about a table that does not exist. Those about missing functions and secrets differ.
    /^ResourceNotFoundException \w*: (Requested resource not found|Cannot do operations on a non-existent table)/,
    () => 'a table of the bridge is gone. Restore it: docs/operate/backup.md',
  ],
  // A function's own error says what to do.
  [/^FunctionError /, ({ message }) => message],
];

const orLocal = 'For an embedded bridge give --local DIR';

export const isDenied = (error: unknown): error is Error =>
  error instanceof Error && /^AccessDenied/.test(error.name);

function deniedText({ message }: Error, { catchUpRoleArn: role }: Place): string {
  const denied = `AWS denies it: ${message}`;
  if (role === undefined) return denied;
  const why = /secretsmanager:GetSecretValue/.test(message)
    ? ' Tokens are read by roles of the bridge alone, whatever yours is allowed.'
    : '';
  return (
    `${denied}.${why} Run this command with the role ${role} (output CatchUpRoleArn), for example by a profile that names ` +
    'it: docs/operate/deploy.md, "Backfill, resync and audit"'
  );
}
