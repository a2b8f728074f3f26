/** Explains errors of AWS, or of the network on the way there, by their names: no module of the SDK is loaded. */

interface AwsError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly $metadata?: unknown;
}

const local = 'For an embedded bridge give --local DIR';

const wrongCredentials =
  /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|AuthFailure|TokenProviderError)/;
const unreachable = /^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)/;

/** DynamoDB's whole message about a table that does not exist. Messages about missing functions and secrets differ. */
const tableGone = /^(Requested resource not found|Cannot do operations on a non-existent table)/;

export const isDenied = (error: unknown): error is Error =>
  error instanceof Error && /^AccessDenied/.test(error.name);

/** @param role ARN of the role with the command's permissions */
export function explainDenied({ message }: Error, role: string | undefined): string {
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

/** @returns undefined for an error that does not come from AWS */
export function explainAws(error: unknown, role?: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message, code = '', $metadata } = error as AwsError;
  if (name === 'CredentialsProviderError') {
    return `no AWS credentials were found (${message.split('\n')[0]}). Sign in, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. ${local}`;
  }
  if (wrongCredentials.test(name)) {
    return `AWS refused the credentials (${name}): they have expired, or are wrong. Sign in again, for example with \`aws sso login\``;
  }
  if (/^Region is missing/.test(message)) {
    return `no AWS region is set. Set AWS_REGION, such as AWS_REGION=eu-central-1. ${local}`;
  }
  if (isDenied(error)) return explainDenied(error, role);
  if (name === 'TimeoutError' || unreachable.test(code)) {
    const endpoint = process.env.AWS_ENDPOINT_URL;
    return endpoint
      ? `AWS cannot be reached at ${endpoint} (${code || name}). Is AWS_ENDPOINT_URL right, and is something listening there?`
      : `AWS cannot be reached (${code || name}). Check the network and AWS_REGION`;
  }
  if (name === 'ResourceNotFoundException' && tableGone.test(message)) {
    return 'a table of the bridge is gone. Restore it: docs/operate/backup.md';
  }
  // A function's own error says what to do; every other answer of AWS has its request's metadata.
  if (name === 'FunctionError') return message;
  return $metadata === undefined ? undefined : `AWS answered ${name}: ${message}`;
}
