import type { Sandbox } from '../../../sandbox/server.ts';
import { programName } from '../../shared/program.ts';

export const more = `The sandbox listens on 127.0.0.1 only, keeps everything in memory and ends with SIGINT or SIGTERM.

Examples:
  advert-bridge sandbox --port 4400
  advert-bridge sandbox --port 0 --adverts 2500 --visibility-delay-ms 0 --json`;

const folder = '.advert-bridge';

/** How to use a running sandbox: its credentials, and commands to copy. */
export function sandboxText({
  url,
  application,
  users,
}: Pick<Sandbox, 'url' | 'application' | 'users'>): string {
  const { clientId, clientSecret } = application;
  const bridge = programName();
  const connects = users.map(
    ({ name, refreshToken }) =>
      `  printf %s ${refreshToken} | ${bridge} connect ${name} --local ${folder} --refresh-token-stdin`,
  );
  return `The sandbox partner service listens on ${url} (Ctrl-C ends it)

  client ID      ${clientId}
  client secret  ${clientSecret}
${users.map(({ name, refreshToken }) => `  refresh token  ${refreshToken} (of ${name})`).join('\n')}
  control        ${url}/_sandbox/ (lists the calls)

In another terminal:

  printf %s ${clientSecret} | ${bridge} application --local ${folder} --base-url ${url} \\
    --client-id ${clientId} --client-secret-stdin
${connects.join('\n')}
  ${bridge} connect NAME --local ${folder} --open       (as a user: on the consent page, in a browser)
  curl -s -d '{"method":"createAdverts","args":[5]}' ${url}/_sandbox/       (the feed shows them after some seconds)
  ${bridge} run --local ${folder} --until-idle
  ${bridge} status --local ${folder}`;
}
