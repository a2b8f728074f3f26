/**
 * The program that the bridge is compared with: the same requests, without state or events. Prints how many adverts it
 * fetched.
 *
 * Usage: bare.ts URL CONCURRENCY SINCE
 */
import { makeBareRequests } from './bare-requests.ts';

let count = 0;
await makeBareRequests(process.argv.slice(2), {
  fetched: (_id, status) => {
    if (status) count += 1;
  },
});
process.stdout.write(`${count}\n`);
