import type { Sandbox } from '../../../sandbox/server.ts';

const folder = '.advert-bridge';

/** What a person needs to use a running sandbox: its credentials, and commands to copy. */
export function sandboxText({
  url,
  application,
  users,
}: Pick<Sandbox, 'url' | 'application' | 'users'>): string {
  const { clientId, clientSecret } = application;
  const bridge = 'npx advert-bridge';
  const connects = users.map(
    ({ name, refreshToken }) =>
      `  printf %s ${refreshToken} | ${bridge} connect ${name} --local ${folder} --refresh-token-stdin`,
  );
  return `The sandbox partner service listens on ${url} (Ctrl-C ends it)

  client ID      ${clientId}
  client secret  ${clientSecret}
${users.map(({ name, refreshToken }) => `  refresh token  ${refreshToken} (of ${name})`).join('\n')}
  control        ${url}/_sandbox/ (lists what can be done to it)

In another terminal:

  printf %s ${clientSecret} | ${bridge} application --local ${folder} --base-url ${url} \\
    --client-id ${clientId} --client-secret-stdin
${connects.join('\n')}
  ${bridge} connect NAME --local ${folder} --open       (the same as a user: by the consent page, in a browser)
  curl -s -d '{"count":5}' ${url}/_sandbox/adverts       (changes: 5 new adverts; in the feed after some seconds)
  ${bridge} run --local ${folder} --until-idle
  ${bridge} status --local ${folder}`;
}
