const proxies = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'] as const;

/**
 * What Node's agents read as `proxyEnv`. They take no notice of an address without a scheme, such as
 * `proxy.example:8080`, which other programs take as `http://`.
 */
export function proxyEnvironment({ NO_PROXY, no_proxy, ...environment }: NodeJS.ProcessEnv) {
  const addresses = proxies.map((name) => {
    const address = environment[name];
    return [name, address && !address.includes('://') ? `http://${address}` : address];
  });
  return { NO_PROXY, no_proxy, ...Object.fromEntries(addresses) };
}
