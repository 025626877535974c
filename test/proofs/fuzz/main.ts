/**
 * `npm run prove -- fuzz --seed N --requests N` sends generated requests to every operation. Each answer that breaks a rule is a failure.
 */
import { runScript } from '../../../dev/problem.ts';
import { fileEnded } from '../../run/lifecycle.ts';
import { startRunServer } from '../../run/server.ts';
import { main } from './command.ts';

await runScript(async () => {
  const server = await startRunServer(1);
  process.env['TEST_RUN_URL'] = server.url;
  try {
    return await main(process.argv.slice(2));
  } finally {
    await fileEnded();
    await server.stop();
  }
});
