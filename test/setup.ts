/** Runs with each test file: test files of one process share their modules, and so what they have mocked. */
import { afterAll } from 'vitest';
import { restoreClients } from './helpers/aws/mock-client.ts';

afterAll(restoreClients);
