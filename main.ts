/**
 * The one entry of the service. `npm run build` makes dist/main.js of it: `node dist/main.js api`. In a checkout:
 * `node --import ./platform/load.mjs main.ts api`. Each command loads only what it needs.
 */
import './platform/start.mjs'; // first: an older Node gets no further

const traced = async <Module>(load: () => Promise<Module>): Promise<Module> => {
  await import('./telemetry.ts'); // first: what is loaded already cannot be traced
  return load();
};

interface Command {
  does: string;
  /** The name of its only argument. */
  argument?: string;
  run: (argument: string) => Promise<void>;
}

/** The commands, in the order in which an installation runs them. */
const commands: Readonly<Record<string, Command>> = {
  migrate: {
    does: 'brings the database to the newest schema, and ends',
    run: async () => (await import('./commands/migrate.ts')).main(),
  },
  setup: {
    does: 'gives Temporal namespace, search attributes and schedules, and the role in Postgres its limits; and ends',
    run: async () => (await import('./commands/setup.ts')).main(),
  },
  doctor: {
    does: 'tries every connection, says what to do where one will not serve, and ends',
    run: async () => (await import('./commands/doctor.ts')).main(),
  },
  api: {
    does: 'serves the API until it is asked to stop',
    run: async () => (await traced(() => import('./api/server.ts'))).main(),
  },
  reseal: {
    does: 'seals anew, under MASTER_KEY, what is sealed under a key of MASTER_KEYS_OLD, and ends',
    run: async () => (await import('./commands/reseal.ts')).main(),
  },
  amounts: {
    does: 'lists purchases whose stored amount may be wrong, changes nothing, and ends',
    run: async () => (await import('./commands/amounts.ts')).main(),
  },
  'reconcile-add-ons': {
    does: 'writes again the paid add-ons since a time that a failover lost, such as since 2026-03-01T00:00:00Z, and ends',
    argument: 'SINCE',
    run: async (since) => (await import('./commands/reconcile-add-ons.ts')).main(since),
  },
  worker: {
    does: 'works until it is asked to stop',
    run: async () => (await traced(() => import('./worker/main.ts'))).main(),
  },
  promote: {
    does: 'makes this build the current one, once its workers poll all task queues, and ends',
    run: async () => (await import('./commands/promote.ts')).main(),
  },
};

const [name = '', ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (command && args.length === (command.argument === undefined ? 0 : 1)) await command.run(args[0] ?? '');
else {
  const usages = Object.entries(commands).map(([known, { argument = '', does }]) => [`${known} ${argument}`, does]);
  const list = usages.map(([usage = '', does]) => `  ${usage.padEnd(24)} ${does}\n`);
  process.stderr.write(`Say what to run:\n${list.join('')}`);
  process.exitCode = 2;
}
