/**
 * The program that the bridge is compared with: it sends the same requests, without state and events, and prints how
 * many adverts it fetched.
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
