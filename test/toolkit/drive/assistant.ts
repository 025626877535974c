/** An assistant: the official client of MCP, connected to the command `mcp` of the SDK in a process of its own. */
import path from 'node:path';
import { Client, type CallToolResult } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { projectDirectory, typescriptArguments } from '../../../dev/project.ts';
import { atEndOfFile } from '../../run/lifecycle.ts';

/**
 * Starts the command, and connects to it.
 * @param options.env the variables of the process
 * @returns the client, and a function that calls a tool and returns its structured content or, for an error, its text
 */
export async function connectAssistant({
  args = [],
  env,
}: {
  args?: readonly string[];
  env: Readonly<Record<string, string>>;
}): Promise<{ client: Client; use: (name: string, input?: object) => Promise<CallToolResult> }> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const program = path.join(projectDirectory, 'sdk', 'src', 'commands', 'bin.ts');
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...typescriptArguments, program, 'mcp', ...args],
    env: { ...env, PATH: process.env['PATH'] ?? '' },
    cwd: projectDirectory,
    stderr: 'ignore',
  });
  await client.connect(transport);
  atEndOfFile(() => client.close());
  return {
    client,
    use: (name, input = {}) => client.callTool({ name, arguments: { ...input } }),
  };
}
