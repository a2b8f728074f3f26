import { proxyEnvironment } from '../domain/proxy-environment.ts';

/**
 * For every client of AWS: the proxy is that of HTTPS_PROXY and NO_PROXY, which Node's agents use from 22.21 and 24.5 on.
 * Plain HTTP goes only to an emulator, which no proxy reaches.
 */
export function handlerOptions(timeouts: {
  readonly connectionTimeout: number;
  readonly requestTimeout: number;
}) {
  return {
    ...timeouts,
    throwOnRequestTimeout: true,
    httpsAgent: { proxyEnv: proxyEnvironment(process.env) },
  };
}
