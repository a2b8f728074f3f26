/** dynalite has no type declarations. */
declare module 'dynalite';
