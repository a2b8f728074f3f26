declare module 'dynalite' {
  import type { Server } from 'node:http';

  const dynalite: (options?: { readonly createTableMs?: number }) => Server;
  export = dynalite;
}

declare module 'dynalite/db/index.js' {
  type Refusal = Error & { body: object };
  const conditions: {
    checkConditional: (
      data: { readonly ReturnValuesOnConditionCheckFailure?: string },
      item: object | undefined,
    ) => Refusal | null | undefined;
  };
  export = conditions;
}

declare module 'dynalite/validations/updateItem.js' {
  const validation: { types: Record<string, object> };
  export = validation;
}
