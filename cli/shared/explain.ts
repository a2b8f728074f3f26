/** What an error means to an operator, with what mends it. */
import { CommandError, type Problem, UsageError } from '../../operations/errors.ts';
import { faultProblem } from '../../operations/findings/findings.ts';
import { ShapeError } from '../../shared/contract/checks.ts';
import { BridgeFault, type FaultKind } from '../../shared/domain/faults.ts';
import { quoted } from '../../shared/domain/text.ts';
import { StateError } from '../../shared/sqlite/file/state-error.ts';
import { faultOfProfile } from './aws-profile.ts';
import type { Target } from './target.ts';

/** @param baseUrl of the partner service, if it is known */
export function explained(error: unknown, target: Target, baseUrl?: string): Error {
  if (error instanceof UsageError || error instanceof CommandError) return error;
  if (error instanceof BridgeFault && error.code === 'other-user')
    return new UsageError(`${error.message}. ${userAdvice}`, { cause: error });
  // Tokens are read during a request. If AWS denies that, it is not a fault of the partner service.
  const denied = [error, (error as Error | undefined)?.cause].find(isDenied);
  const [says, mend] = denied ? denial(denied.message) : (problemOf(error, target, baseUrl) ?? []);
  if (says !== undefined)
    return new CommandError(says, { mend, cause: error, code: denied ? 'denied' : undefined });
  return error instanceof Error ? error : new Error(String(error));
}

function problemOf(error: unknown, target: Target, baseUrl: string | undefined): Problem | undefined {
  if (error instanceof StateError) return [error.says, error.mend];
  if (error instanceof ShapeError) return faultProblem('malformed-state', error.message, target);
  if (error instanceof BridgeFault) return problemOfFault(error, target, baseUrl);
  if (!(error instanceof Error) || target.kind === 'local') return undefined;
  const { name, message, code = '', $metadata } = error as AwsError;
  // A function's own error says what to do.
  if (name === 'FunctionError') return [message];
  for (const [pattern, problem] of ofAws) {
    const found = pattern.exec(`${name} ${code}: ${message}`);
    if (!found) continue;
    const [says, mend] = typeof problem === 'function' ? problem(found) : problem;
    return [`${says} (${code || message.split('\n')[0]})`, mend];
  }
  // Every answer of AWS has its request's metadata.
  return $metadata && [`AWS answered ${name}: ${message}`];
}

const userAdvice =
  'Nothing was stored. Connect another user under another NAME, or give this NAME away with --new-user, which begins ' +
  'anew. If it is the same user, add --same-user';

/** What the partner service does. */
const ofService: Partial<Record<FaultKind, string>> = {
  transient: 'cannot be reached, or does not answer as it should',
  'contract-broken': 'answers in another form than agreed',
  'rate-limited': 'asks for fewer requests',
  paused: 'asked for a pause, so nothing is sent now',
  forbidden: 'forbids the request, and may block this address: find out who else sends from here',
  'invalid-request': 'rejects the request as invalid',
  'request-refused': 'refuses the request',
};

function problemOfFault(
  { code, message, retryAfterMs = 0, status = 0 }: BridgeFault,
  target: Target,
  baseUrl: string | undefined,
): Problem {
  if (code === 'generation-over')
    return [
      `${message}: meanwhile the name was given to another user, or forgotten`,
      'Give the command again',
    ];
  // An answer of 5xx is one of the service at its base URL, or of what stands in front of it.
  const isItsOwnFault = code === 'transient' && status >= 500;
  const says = isItsOwnFault ? 'answers, but with a fault of its own' : ofService[code];
  if (says === undefined) return faultProblem(code, message, target) ?? [message];
  const isItRight = code === 'transient' ? 'Is it up, and is its base URL right?' : 'Is its base URL right?';
  let advice = 'Check what you gave; if that is right, ask the service';
  if (isItsOwnFault || code === 'rate-limited' || code === 'paused' || code === 'forbidden')
    advice = `Try again in ${retryAfterMs > 0 ? `${Math.ceil(retryAfterMs / 1000)} s` : 'a while'}`;
  else if (code === 'transient' || code === 'contract-broken')
    advice =
      target.kind === 'local'
        ? `${isItRight} Set it with \`${target.command('application --base-url URL …')}\``
        : `${isItRight} It is the setting partnerBaseUrl of the stack`;
  return [`the partner service${baseUrl === undefined ? '' : ` at ${baseUrl}`} ${says}: ${message}`, advice];
}

interface AwsError extends Error {
  readonly code?: string;
  readonly $metadata?: object;
}

const orLocal = 'For an embedded bridge give --local DIR';
const setRegion = 'Set AWS_REGION, such as AWS_REGION=eu-central-1';

/**
 * Errors of AWS, or of the network on the way there, by `name code: message`, so that no module of the SDK is loaded. The
 * first that fits decides.
 */
const ofAws: readonly (readonly [RegExp, Problem | ((found: RegExpExecArray) => Problem)])[] = [
  [
    /Profile (.+) requires multi-factor authentication/,
    ([, profile = '']) => [
      `the AWS profile ${profile} asks for a code of multi-factor authentication, which only the AWS CLI takes`,
      `\`eval "$(aws configure export-credentials --profile ${quoted(profile)} --format env)"; unset AWS_PROFILE\``,
    ],
  ],
  [
    /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|AuthFailure|TokenProviderError|CredentialsProviderError.* SSO session)/,
    [
      'AWS refused the credentials: they have expired, or are wrong',
      'Sign in again, for example with `aws sso login`',
    ],
  ],
  [
    /^CredentialsProviderError/,
    () =>
      faultOfProfile('credentials') ?? [
        'no AWS credentials were found',
        `Sign in, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. ${orLocal}`,
      ],
  ],
  [
    /^\w+ \w*: Region is missing/,
    () => faultOfProfile('region') ?? ['no AWS region is set', `${setRegion}. ${orLocal}`],
  ],
  [/^\w+ \w*: Region not accepted/, ['there is no such AWS region', setRegion]],
  [
    /ENOTFOUND \S+?\.([\w-]+)\.amazonaws\./,
    ([, region]) => [
      `AWS has no region ${region}, or this machine cannot look up names`,
      `${setRegion}, or check the network`,
    ],
  ],
  [
    /^(TimeoutError |\w+ (ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE))/,
    ['AWS cannot be reached', 'Check the network and AWS_REGION, and AWS_ENDPOINT_URL if you have set it'],
  ],
  [
    // DynamoDB's whole message about a table that does not exist. Those about missing functions and secrets differ.
    /^ResourceNotFoundException \w*: (Requested resource not found|Cannot do operations on a non-existent table)/,
    ['a table of the bridge is gone', 'Restore it: docs/operate/backup.md'],
  ],
  [
    /^ResourceNotFoundException \w*: Secrets Manager/,
    ['a secret of the bridge is gone', 'Deploy the stack again: `npx cdk deploy`'],
  ],
];

export const isDenied = (error: unknown): error is Error =>
  error instanceof Error && /^AccessDenied/.test(error.name);

function denial(message: string): Problem {
  const why = /secretsmanager:GetSecretValue/.test(message)
    ? 'Tokens are read by roles of the bridge alone, whatever yours is allowed: use the role of output CatchUpRoleArn. '
    : '';
  return [`AWS denies it: ${message}`, `${why}What a command has to be allowed: docs/operate/deploy.md`];
}
