/** The fake model as a separate process that runs until it is stopped. `npm start -- --fake-model` and the bench run it. */
import { startFakeModel } from './fake-model.ts';
import { interruption } from '../interruption.ts';
import { portsFromEnvironment } from '../stack/ports.ts';
import { runScript, say } from '../problem.ts';

/** About as long as with a real model, so that a reader sees the deltas arrive. */
const delayMs = 40;

await runScript(async () => {
  const interrupted = interruption();
  const model = await startFakeModel({ port: portsFromEnvironment(['fakeModel'], process.env).fakeModel, delayMs });
  say(`The fake model listens at ${model.url}`);
  await interrupted;
  await model.stop();
  return 0;
});
