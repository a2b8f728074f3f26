/**
 * Takes the place of `@aws-sdk/endpoint-cache` in the bundles of the functions (esbuild's `--alias`). DynamoDB's client
 * makes one for endpoint discovery, which is off unless asked for; the original brings 7 KB of LRU cache along.
 */
export class EndpointCache {
  has(): boolean {
    return false;
  }

  get(): undefined {
    return undefined;
  }

  getEndpoint(): undefined {
    return undefined;
  }

  set(): void {}

  delete(): void {}

  clear(): void {}
}
