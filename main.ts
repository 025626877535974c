/**
 * The one entry of the service. `npm run build` makes dist/main.js of it: `node dist/main.js api`. In a checkout:
 * `node --import ./platform/load.mjs main.ts api`. Each command loads only what it needs.
 */
import './platform/start.mjs'; // first: an older Node gets no further

const traced = async <Module>(load: () => Promise<Module>): Promise<Module> => {
  await import('./telemetry.ts'); // first: what is loaded already cannot be traced
  return load();
};

/** What can be run, in the order in which an installation runs it. */
const commands: Readonly<Record<string, { does: string; run: () => Promise<void> }>> = {
  migrate: {
    does: 'brings the database to the newest schema, and ends',
    run: async () => (await import('./entities/migrate.ts')).main(),
  },
  setup: {
    does: 'gives Temporal namespace, search attributes and schedules, and the role in Postgres its limits; and ends',
    run: async () => (await import('./worker/setup.ts')).main(),
  },
  doctor: {
    does: 'tries every connection, says what to do where one will not serve, and ends',
    run: async () => (await import('./worker/doctor.ts')).main(),
  },
  api: {
    does: 'serves the API until it is asked to stop',
    run: async () => (await traced(() => import('./api/server.ts'))).main(),
  },
  reseal: {
    does: 'seals anew, under MASTER_KEY, what is sealed under a key of MASTER_KEYS_OLD, and ends',
    run: async () => (await import('./entities/reseal.ts')).main(),
  },
  amounts: {
    does: 'lists purchases whose stored amount may be wrong, changes nothing, and ends',
    run: async () => (await import('./worker/amounts.ts')).main(),
  },
  worker: {
    does: 'works until it is asked to stop',
    run: async () => (await traced(() => import('./worker/main.ts'))).main(),
  },
  promote: {
    does: 'makes this build the current one, once its workers poll all task queues, and ends',
    run: async () => (await import('./worker/promote.ts')).main(),
  },
};

const [name = '', ...more] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) && more.length === 0 ? commands[name] : undefined;
if (command) await command.run();
else {
  const list = Object.entries(commands).map(([known, { does }]) => `  ${known.padEnd(8)} ${does}\n`);
  process.stderr.write(`Say what to run:\n${list.join('')}`);
  process.exitCode = 2;
}
