/** What stands below the options in the help of `dead-letters` and of its parts. */
export const deadLettersHelp = {
  all: `
Examples:
  advert-bridge dead-letters list --local .advert-bridge
  advert-bridge dead-letters list main --json   (the deployed stack)
  advert-bridge dead-letters show 12 --local .advert-bridge
  advert-bridge dead-letters redrive main --local .advert-bridge
  advert-bridge dead-letters drop 12 13 --yes --local .advert-bridge`,

  list: `
Exit code 3 says that there are some: they are left for a person.

Examples:
  advert-bridge dead-letters list --local .advert-bridge
  advert-bridge dead-letters list main --json   (the deployed stack)`,

  show: `
Examples:
  advert-bridge dead-letters show 12 --local .advert-bridge
  advert-bridge dead-letters show 3f0a6c1e-9d55-4f4e-8c1c-0f2d7a1b2c3d --json   (the deployed stack)`,

  redrive: `
May be done again: what is back in the queue is no dead letter any more. A word of an ID's form is taken for an ID.
Exit code 3 says that some have nothing to send, and stay for a person.

Examples:
  advert-bridge dead-letters redrive 12 13 --local .advert-bridge
  advert-bridge dead-letters redrive main --local .advert-bridge
  advert-bridge dead-letters redrive --all   (the deployed stack)`,

  drop: `
Examples:
  advert-bridge dead-letters drop 12 --local .advert-bridge
  advert-bridge dead-letters drop 3f0a6c1e-9d55-4f4e-8c1c-0f2d7a1b2c3d --yes   (the deployed stack)`,
} as const;
