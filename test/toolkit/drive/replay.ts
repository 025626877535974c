/** Reads the committed histories in test/replay, and writes a history without machine-specific values. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import proto from '@temporalio/proto';

/** Returns the JSON that protobufjs would write. The SDK's own historyToJSON fails if two copies of protobufjs are installed. */
const format = proto.temporal.api.history.v1.History;

const directory = fileURLToPath(new URL('../../replay', import.meta.url));

/** Replaces the names of processes in a history. */
export const recorder = 'recorder';

interface CommittedHistory {
  /** The type of the workflow: the folder's name. */
  type: string;
  scenario: string;
  read(): History;
}

export function committedHistories(): CommittedHistory[] {
  const folders = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: type }) =>
    readdirSync(path.join(directory, type))
      .filter((file) => file.endsWith('.json'))
      .map((file) => ({
        type,
        scenario: path.basename(file, '.json'),
        read: () => historyFrom(JSON.parse(readFileSync(path.join(directory, type, file), 'utf8')) as object),
      })),
  );
}

export function isCommitted(type: string, scenario: string): boolean {
  return existsSync(fileOf(type, scenario));
}

export function commitHistory(type: string, scenario: string, history: History): void {
  const text = JSON.stringify(readableHistory(history), undefined, 2);
  for (const mark of [os.hostname(), os.homedir(), process.cwd()]) {
    if (text.includes(mark)) throw new Error(`The history of ${type}/${scenario} names this machine.`);
  }
  mkdirSync(path.join(directory, type), { recursive: true });
  writeFileSync(fileOf(type, scenario), `${text}\n`);
}

export function readableHistory(history: History): object {
  const readable = format.toObject(format.fromObject(history), { enums: String, longs: String, bytes: String });
  return withoutMachine(readable) as object;
}

/** Reverses `readableHistory`. */
export function historyFrom(readable: object): History {
  return format.fromObject(readable);
}

function fileOf(type: string, scenario: string): string {
  return path.join(directory, type, `${scenario}.json`);
}

/** Process ids, host names and paths. A replay does not need them. */
function withoutMachine(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMachine);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'stackTrace')
      .map(([key, inner]) => [key, key === 'identity' ? recorder : withoutMachine(inner)]),
  );
}
