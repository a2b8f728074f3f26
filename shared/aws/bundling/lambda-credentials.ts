/**
 * Takes the place of `@aws-sdk/credential-provider-node` in the bundles of the functions (esbuild's `--alias`). Lambda
 * gives credentials in the environment; profiles, SSO, and the other sources of that package are 90 KB of dead weight.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** The name and the shape that the SDK's clients import. They are the SDK's to read, not a setting of the bridge. */
export const defaultProvider = () => async (): Promise<Credentials> => {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  if (!accessKeyId || !secretAccessKey) throw new Error('no AWS credentials in the environment');
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
};
