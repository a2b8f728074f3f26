import type { Application } from '../domain/secret-text.ts';

export interface ApplicationSecret {
  /** @throws {ShapeError} when the secret is still empty, or half-written */
  read(): Promise<Application>;
}

/** For the command line. */
export interface ApplicationSecretWriter extends ApplicationSecret {
  write(application: Application): Promise<void>;
}
