/**
 * The only entry point of the service. `npm run build` compiles it to dist/main.js, which is started by `node dist/main.js api`. In a
 * checkout, the start is `node --import ./platform/load.mjs main.ts api`. Each command loads only the code that it needs.
 */
import './platform/start.mjs'; // must be the first import: it ends an unsupported older Node with a message

const traced = async <Module>(load: () => Promise<Module>): Promise<Module> => {
  await import('./telemetry.ts'); // imported first, because modules that are already loaded cannot be traced
  return load();
};

interface Command {
  does: string;
  argument?: string;
  /** The command reads its arguments itself, and refuses wrong ones. */
  readsArguments?: true;
  run: (...args: string[]) => Promise<void>;
}

/** The commands, in the order in which a new installation needs them. */
const commands: Readonly<Record<string, Command>> = {
  migrate: {
    does: 'migrates the database to the newest schema, and ends',
    run: async () => (await import('./commands/migrate.ts')).main(),
  },
  setup: {
    does: 'creates namespace, search attributes and schedules in Temporal, sets the limits of the role in Postgres, and ends',
    run: async () => (await import('./commands/setup.ts')).main(),
  },
  doctor: {
    does: 'tries every connection, says what to do about each problem, and ends',
    run: async () => (await import('./commands/doctor.ts')).main(),
  },
  api: {
    does: 'serves the API until it gets a stop signal',
    run: async () => (await traced(() => import('./api/server.ts'))).main(),
  },
  reseal: {
    does: 'seals all values under a key of MASTER_KEYS_OLD again under MASTER_KEY, and ends',
    run: async () => (await import('./commands/reseal.ts')).main(),
  },
  amounts: {
    does: 'lists purchases whose stored amount may be wrong, changes nothing, and ends',
    run: async () => (await import('./commands/amounts.ts')).main(),
  },
  'reconcile-add-ons': {
    does: 'restores the paid add-ons that a failover lost since a time such as 2026-03-01T00:00:00Z, and ends',
    argument: 'SINCE',
    run: async (since) => (await import('./commands/reconcile-add-ons.ts')).main(since),
  },
  'erase-again': {
    does: 'erases again what a restore of Postgres brought back, and ends',
    argument: '--since TIME',
    readsArguments: true,
    run: async (...args) => (await import('./commands/erase-again.ts')).main(args),
  },
  'reset-factors': {
    does: 'removes all second factors of an administrator, named by id or e-mail, who has lost them, and ends',
    argument: 'ADMINISTRATOR',
    run: async (administrator) => (await import('./commands/reset-factors.ts')).main(administrator),
  },
  'rotate-erasure-key': {
    does: 'makes the next key that signs certificates of erasure, and ends',
    run: async () => (await import('./commands/rotate-erasure-key.ts')).main(),
  },
  worker: {
    does: 'runs workflows and activities until it gets a stop signal',
    run: async () => (await traced(() => import('./worker/main.ts'))).main(),
  },
  promote: {
    does: 'makes this build the current build, once its workers poll all task queues, and ends',
    run: async () => (await import('./commands/promote.ts')).main(),
  },
};

const [name = '', ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
const takes = command?.argument === undefined ? 0 : 1;
if (command && (command.readsArguments || args.length === takes)) await command.run(...args);
else {
  const usages = Object.entries(commands).map(([known, { argument = '', does }]) => [`${known} ${argument}`, does]);
  const list = usages.map(([usage = '', does]) => `  ${usage.padEnd(28)} ${does}\n`);
  process.stderr.write(`Name one of these commands:\n${list.join('')}`);
  process.exitCode = 2;
}
