/**
 * Replaces `@aws-sdk/credential-provider-node` in the bundles of the functions (esbuild's `--alias`). Lambda passes
 * credentials in the environment; the other sources of that package, such as profiles and SSO, are 90 KB of unused
 * code.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */

/** Name and signature are those that the SDK's clients import. */
export const defaultProvider = () => async () => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error('no AWS credentials in the environment');
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
};
