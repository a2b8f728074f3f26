declare module 'dynalite' {
  import type { Server } from 'node:http';

  const dynalite: (options?: { readonly createTableMs?: number }) => Server;
  export = dynalite;
}
