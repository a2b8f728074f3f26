import type { Secret } from '../domain/secret.ts';

export interface Application {
  readonly clientId: Secret;
  readonly clientSecret: Secret;
}

export interface ApplicationSecret {
  /** @throws {ShapeError} when the secret is still empty, or half-written */
  read(): Promise<Application>;
}
