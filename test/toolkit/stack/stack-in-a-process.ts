/** Runs a stack in the directory of its first argument until the process is killed. stack.test.ts uses this process. */
import { startStack } from '../../../dev/stack/stack.ts';

const stack = await startStack({
  directory: process.argv[2] ?? '',
  ports: 'free',
  parts: ['postgres'],
  env: process.env,
});
process.stdout.write(`${stack.pids.postgres}\n`);
