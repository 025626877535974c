/** The commands of the package: `npx @club-learning/sdk COMMAND` (SDK-9). */
import { CommandFailure, UsageError, type Command, type CommandIo } from './command.ts';
import { serviceUsage, withoutSecrets } from './options.ts';

const program = 'club-learning';

/** Every command, in the order in which `--help` lists them. */
const commands: readonly Command[] = [
  {
    name: 'conformance',
    summary: 'tests a receiver of webhooks',
    usage: `\
Usage: club-learning conformance --url URL [--json]
Sends valid and false deliveries to a receiver, and prints a verdict for each check.

  --url URL        address of the receiver
  --secret SECRET  secret of the receiver, whsec_…; the variable WEBHOOK_SECRET is better,
                   because other users of the machine see the arguments of a program
  --json           prints JSON

Exit code: 0 if no check failed, 1 if one failed, 2 if the program was started wrongly.`,
    load: async () => (await import('./conformance/conformance.ts')).conformance,
  },
  {
    name: 'mcp',
    summary: 'gives the operations of an API key to an assistant, as an MCP server over stdio',
    usage: `\
Usage: club-learning mcp [--tools RESOURCES] [--allow-writes]
Serves the Model Context Protocol on the standard input and output. The tools are the
operations that the scopes of the API key permit.

  --tools LIST     resources separated by commas, such as students,courses, or all;
                   if absent, the resources about students and courses
  --allow-writes   also offers the operations that change data
${serviceUsage}

Exit code: 0 after the assistant ended, 1 if the service refuses the key, 2 if the program
was started wrongly.`,
    load: async () => (await import('./mcp/mcp.ts')).mcp,
  },
  {
    name: 'listen',
    summary: 'forwards the events of a club to a receiver on this machine',
    usage: `\
Usage: club-learning listen --club ID --forward-to URL [--events TYPES] [--expect N --timeout TIME] [--json]
Receives each new event over an open connection, signs it, and posts it to the receiver, one after the other.

${serviceUsage}
The key needs the scope events:read.

  --forward-to URL  address of the receiver, such as http://localhost:3000/hooks
  --events TYPES    only these events, separated by commas
  --expect N        ends when the receiver has accepted N events
  --timeout TIME    with --expect: the time in which they must arrive, such as 60s
  --json            prints a line of JSON for each event
  --print-secret    prints the secret that verifies the events, and ends

The secret is derived from the API key, so it stays the same.
Exit code: 0 if the expected events were accepted, or without --expect; 1 if they were not, or if the service
refuses the connection; 2 if the program was started wrongly.`,
    load: async () => (await import('./listen/listen.ts')).listen,
  },
  {
    name: 'trigger',
    summary: 'sends the example of an event to a receiver on this machine',
    usage: `\
Usage: club-learning trigger TYPE --forward-to URL [--json]
Posts the contract's example of an event, signed like the events of listen. It does not call the service.

  --forward-to URL  address of the receiver
  --json            prints a line of JSON

The secret is derived from the variable CLUB_LEARNING_API_KEY: club-learning listen --print-secret
Exit code: 0 if the receiver accepted the event, 1 if it did not, 2 if the program was started wrongly.`,
    load: async () => (await import('./trigger/trigger.ts')).trigger,
  },
];

/**
 * @param args the arguments of the program
 * @returns the exit code: 0 for success, 1 if the command found or met a failure, 2 if it was started wrongly
 */
export async function main(args: readonly string[], io: CommandIo, all = commands): Promise<number> {
  const [name, ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    io.out(overview(all));
    return 0;
  }
  const command = all.find((one) => one.name === name);
  if (!command) {
    const problem = name === undefined ? 'Name a command.' : `There is no command ${JSON.stringify(name)}.`;
    io.error(`${withoutSecrets(problem)}\n\n${overview(all)}`);
    return 2;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    io.out(`${command.usage.trim()}\n`);
    return 0;
  }
  try {
    const run = await command.load();
    return await run(rest, io);
  } catch (error) {
    if (error instanceof UsageError) {
      io.error(`${withoutSecrets(error.message)}\nSee: ${program} ${command.name} --help\n`);
      return 2;
    }
    if (!(error instanceof CommandFailure)) throw error;
    io.error(`${withoutSecrets(error.message)}\n`);
    return 1;
  }
}

function overview(all: readonly Command[]): string {
  const width = Math.max(0, ...all.map(({ name }) => name.length)) + 2;
  const rows = all.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`);
  return [
    `Usage: ${program} COMMAND [options]`,
    '',
    ...rows,
    '',
    `${program} COMMAND --help shows the options of a command.\n`,
  ].join('\n');
}
