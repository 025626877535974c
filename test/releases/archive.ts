/** Reads and writes the recorded releases in test/releases/<version>. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { projectDirectory } from '../../dev/project.ts';
import type { CallerKind } from '../../contract/contract.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Dump } from './dump.ts';

export const releasesDirectory = path.join(projectDirectory, 'test', 'releases');
/** The maximum size of all files of a release together, in bytes. */
const largest = 2 * 1024 * 1024;

/**
 * The master key of the sealed values in every recorded release. This key protects no secret, because a release contains only invented
 * data.
 */
export const releaseKey = createHash('sha256').update('the key of recorded releases').digest('base64');

/** A recorded read of the API: the caller, the request, and the answer. */
export interface Read {
  readonly operation: string;
  readonly path: string;
  readonly caller: { readonly kind: CallerKind; readonly id: Id } | null;
  readonly status: number;
  /** The JSON of the answer, without the parts that differ from run to run. If the answer is not JSON, only its content type. */
  readonly answer: unknown;
}

export interface StoredObject {
  readonly bucket: 'private' | 'public';
  readonly key: string;
  readonly base64: string;
}

/** A summary of the recording, for people and for the test. */
export interface Summary {
  readonly version: string;
  /** The time of the recording. During the reads, the API's clock shows this time. */
  readonly recordedAt: string;
  readonly rows: Readonly<Record<string, number>>;
  /** Tables in which no row was recorded. */
  readonly emptyTables: readonly string[];
  /** Values that a column allows but no recorded row contains, as `table.column: value`. */
  readonly missingStates: readonly string[];
}

export interface Release {
  readonly summary: Summary;
  readonly database: Dump;
  /** The JSON of each history in the format of protobufjs. The key is `type/scenario`. */
  readonly histories: Readonly<Record<string, object>>;
  readonly contract: object;
  readonly reads: readonly Read[];
  readonly objects: readonly StoredObject[];
}

/** For each workflow type and outcome: the number of open runs of a release that end so. The key is `type outcome`. */
export type Ends = Readonly<Record<string, number>>;

const parts = ['database', 'histories', 'contract', 'reads', 'objects'] as const;

/** @returns the versions of all recorded releases, oldest first */
export function recordedVersions(): string[] {
  return readdirSync(releasesDirectory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(path.join(releasesDirectory, entry.name, 'release.json')))
    .map(({ name }) => name)
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
}

/** @throws Error when a file cannot be read; the message names the release and the file */
export function readRelease(version: string, directory = path.join(releasesDirectory, version)): Release {
  const read = (file: string) => {
    try {
      const bytes = readFileSync(path.join(directory, file));
      return JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')) as unknown;
    } catch (error) {
      throw new Error(`Release ${version} does not load: ${file} cannot be read.`, { cause: error });
    }
  };
  const compressed = parts.map((part) => [part, read(`${part}.json.gz`)] as const);
  return { summary: read('release.json'), ...Object.fromEntries(compressed) } as Release;
}

/**
 * @param directory an empty directory, or a directory that does not exist yet
 * @throws Error if the files would be too large, or if they contain a name or path of the recording machine
 */
export function writeRelease(directory: string, release: Release): void {
  const texts = parts.map((part) => [part, JSON.stringify(release[part])] as const);
  for (const [part, text] of texts) {
    for (const mark of [os.hostname(), os.homedir(), os.tmpdir(), projectDirectory])
      if (mark.length > 3 && text.includes(mark)) throw new Error(`${part} of the release names this machine: ${mark}`);
  }
  const files = texts.map(([part, text]) => [`${part}.json.gz`, gzipSync(text, { level: 9 })] as const);
  const size = files.reduce((sum, [, bytes]) => sum + bytes.length, 0);
  if (size > largest) throw new Error(`The release has ${size} bytes; ${largest} are allowed.`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(path.join(directory, 'release.json'), `${JSON.stringify(release.summary, undefined, 2)}\n`);
  for (const [file, bytes] of files) writeFileSync(path.join(directory, file), bytes);
}

const fileOfEnds = (version: string) => path.join(releasesDirectory, version, 'ends.json');

export const readEnds = (version: string): Ends => JSON.parse(readFileSync(fileOfEnds(version), 'utf8')) as Ends;

export function writeEnds(version: string, ends: Ends): void {
  writeFileSync(fileOfEnds(version), `${JSON.stringify(ends, undefined, 2)}\n`);
}
