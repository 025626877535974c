/**
 * Finds Temporal's server and schema tool on the PATH, or builds them from their Go module. Both have the version in deploy/compose.yaml.
 */
import { locate } from '../../../../dev/components.ts';
import type { Component } from '../../../../dev/components/catalogue.ts';
import { goInstall } from '../../../../dev/components/go.ts';
import { messageOf } from '../../../../dev/problem.ts';
import { askProgram } from '../../../../platform/infra/programs/programs.ts';
import { progress } from '../../faults/progress.ts';
import { serverVersion } from './configuration.ts';

interface Program {
  readonly title: string;
  readonly executable: string;
  readonly variable: string;
  readonly folder: string;
  readonly duration: string;
}

const componentOf = ({ title, executable, variable, folder, duration }: Program): Component => ({
  title,
  executable,
  version: serverVersion,
  variable,
  sources: [goInstall({ module: `go.temporal.io/server/${folder}@v${serverVersion}`, executable, duration })],
  advice: [
    'install Go 1.26.4 or newer (https://go.dev/dl) and try again; the program is then built from source',
    `download it: https://github.com/temporalio/temporal/releases/tag/v${serverVersion}`,
  ],
  async flawOf(file) {
    const foundVersion = await versionOf(file).catch(messageOf);
    return foundVersion === serverVersion ? undefined : `says ${foundVersion}; ${serverVersion} is wanted`;
  },
  check: async (file) => void (await versionOf(file)),
});

const server = componentOf({
  title: 'Temporal, as a node of a cluster',
  executable: 'temporal-server',
  variable: 'TEMPORAL_SERVER_BINARY',
  folder: 'cmd/server',
  duration: '3 to 8 minutes the first time',
});
const sqlTool = componentOf({
  title: 'The schemas of Temporal',
  executable: 'temporal-sql-tool',
  variable: 'TEMPORAL_SQL_TOOL_BINARY',
  folder: 'cmd/tools/sql',
  duration: 'seconds, once the server is built',
});

interface Programs {
  readonly server: string;
  readonly sqlTool: string;
}

export async function findPrograms(): Promise<Programs> {
  const report = progress;
  return { server: await locate(server, { report }), sqlTool: await locate(sqlTool, { report }) };
}

const versionOf = async (file: string): Promise<string> =>
  / version (\S+)/.exec(await askProgram(file, ['--version']))?.[1] ?? 'no version';
