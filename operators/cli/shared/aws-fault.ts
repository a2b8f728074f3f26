/** What an error of AWS is, or of the network on the way there: a code of problems.json, with the facts for its sentence. */
import { quoted } from '../../../shared/domain/text.ts';
import type problems from '../../../shared/findings/problems.json';

export interface AwsFault {
  readonly code: keyof typeof problems.aws;
  readonly facts: Readonly<Record<string, string>>;
}

/** By `name code: message`, so that no module of the SDK is loaded: the first that fits decides. */
const kinds: readonly (readonly [AwsFault['code'], RegExp])[] = [
  ['tokens-denied', /^AccessDenied.*(?<action>secretsmanager:GetSecretValue)/s],
  ['denied', /^AccessDenied(?:.*perform: (?<action>[\w-]+:\w+))?/s],
  ['needs-code', /Profile (?<profile>.+) requires multi-factor authentication/],
  [
    'credentials-refused',
    /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|MissingAuthenticationToken|AuthFailure|TokenProviderError|CredentialsProviderError.* SSO session)/,
  ],
  ['no-credentials', /^CredentialsProviderError/],
  ['no-region', /^\w+ \w*: Region is missing/],
  ['bad-region', /^\w+ \w*: Region not accepted/],
  ['unknown-region', /ENOTFOUND \S+?\.(?<region>[\w-]+)\.amazonaws\./],
  [
    'unreachable',
    /^(TimeoutError |\w+ (ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE))/,
  ],
  [
    'table-gone',
    /^ResourceNotFoundException \w*: (Requested resource not found|Cannot do operations on a non-existent table)/,
  ],
  ['secret-gone', /^ResourceNotFoundException \w*: Secrets Manager/],
];

export function awsFaultOf(error: unknown): AwsFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const { name, message, code = '', $metadata } = error as Error & { code?: string; $metadata?: object };
  const text = `${name} ${code}: ${message}`;
  const [known, pattern] = kinds.find(([, each]) => each.test(text)) ?? [];
  const facts = { name, message, detail: code || (message.split('\n')[0] ?? '') };
  // Every answer of AWS has its request's metadata.
  if (!known || !pattern) return $metadata && { code: 'other', facts };
  const found = Object.entries(pattern.exec(text)?.groups ?? {}).flatMap(([fact, of]) =>
    of ? [[fact, quoted(of)]] : [],
  );
  return { code: known, facts: { ...facts, ...Object.fromEntries(found) } };
}

/** Of the error, or of its cause. */
export function denialOf(error: unknown): AwsFault | undefined {
  const faults = [error, (error as Error | undefined)?.cause].map(awsFaultOf);
  return faults.find((fault) => fault?.code === 'denied' || fault?.code === 'tokens-denied');
}
