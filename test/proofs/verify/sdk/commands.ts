/** Runs the commands of the installed SDK as a user would: `--help`, `conformance` with a receiver, and `mcp` with the official client. */
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { messageOf, Problem } from '../../../../dev/problem.ts';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { examples, startExample } from '../../../toolkit/stack/example-receiver.ts';

const names = ['conformance', 'mcp'] as const;
/** A secret of the docs. */
const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';

/**
 * @param node the program that runs the commands
 * @param project the folder into which the package is installed
 * @param service the address of the service, the club and an API key
 * @returns one line for each command
 * @throws Problem if a command does not do its work
 */
export async function runInstalledCommands(
  node: string,
  project: string,
  service: { readonly url: string; readonly clubId: string; readonly key: string },
): Promise<readonly string[]> {
  const program = path.join(project, 'node_modules', '@club-learning', 'sdk', 'dist', 'commands', 'bin.js');
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runCommand(node, [program, ...args], { cwd: project, env, timeoutMs: 60_000 }).catch((error: unknown) => {
      throw new Problem(`club-learning ${args[0]} failed: ${messageOf(error)}`);
    });

  // npx starts this file, and finds Node on the PATH.
  const overview = await runCommand(path.join(project, 'node_modules', '.bin', 'club-learning'), ['--help']);
  for (const name of names) {
    if (!overview.includes(`  ${name} `)) throw new Problem(`--help does not list ${name}:\n${overview}`);
    const usage = await run([name, '--help']);
    if (!usage.startsWith(`Usage: club-learning ${name}`)) throw new Problem(`${name} --help printed:\n${usage}`);
  }
  return [
    `--help: ${names.join(', ')}`,
    `conformance: ${await conformance(run)}`,
    `mcp: ${await listedTools(node, program, service)}`,
  ];
}

type Run = (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<string>;

/** @returns the last line of the command for the first example receiver */
async function conformance(run: Run): Promise<string> {
  const [example] = examples;
  if (!example) throw new Problem('The docs have no example receiver.');
  const receiver = await startExample(example, secret);
  try {
    const output = await run(['conformance', '--url', receiver.url], { WEBHOOK_SECRET: secret });
    const last = output.trim().split('\n').at(-1) ?? '';
    if (!/^22 pass, 1 warn, 0 fail, 0 skip$/.test(last)) throw new Problem(`conformance printed:\n${output}`);
    return last;
  } finally {
    await receiver.stop();
  }
}

/** @returns the tools, after a call of one of them */
async function listedTools(
  node: string,
  program: string,
  { url, clubId, key }: { readonly url: string; readonly clubId: string; readonly key: string },
): Promise<string> {
  const client = new Client({ name: 'verify', version: '1.0.0' });
  const env = { CLUB_LEARNING_API_URL: url, CLUB_LEARNING_CLUB_ID: clubId, CLUB_LEARNING_API_KEY: key };
  await client.connect(new StdioClientTransport({ command: node, args: [program, 'mcp'], env, stderr: 'ignore' }));
  try {
    const { tools } = await client.listTools();
    const { structuredContent, isError } = await client.callTool({ name: 'listStudents', arguments: { q: 'Ada' } });
    if (isError || !JSON.stringify(structuredContent).includes('"Ada"'))
      throw new Problem(`The tool listStudents answered ${JSON.stringify(structuredContent)}.`);
    return `${tools.length} tools (${tools.map(({ name }) => name).join(', ')}), and listStudents finds Ada`;
  } finally {
    await client.close();
  }
}
