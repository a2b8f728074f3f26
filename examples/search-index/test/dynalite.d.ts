/** Has no types of its own. */
declare module 'dynalite';
