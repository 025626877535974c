/** Runs exports of clubs in tests. Requests each export through the API, processes it without a workflow, and reads its archive. */
import { createHash } from 'node:crypto';
import yauzl from 'yauzl';
import { readConfig } from '../../../config.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { mediaUses } from '../../../domain/contexts.ts';
import type { Manifest } from '../../../domain/exports/clubs/archive.ts';
import type { ExportLine } from '../../../domain/exports/clubs/pages.ts';
import { stepClubExport, type ClubExportDeps, type ClubExportStep } from '../../../domain/exports/clubs/step.ts';
import { mailDomainSettings } from '../../../domain/mail/domains/settings.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { testDeps } from '../stack/database.ts';
import { clock } from './api.ts';
import { callsOf } from './club-calls.ts';

export async function clubExportDeps(changes: Partial<ClubExportDeps> = {}): Promise<ClubExportDeps> {
  const mailDomains = mailDomainSettings(readConfig().mail);
  return { ...(await testDeps()), mailDomains, mediaUses, failpoint: async () => {}, ...changes };
}

/** The dependencies as a worker passes them to the activity. */
export async function clubExportActivityDeps() {
  const { publicUrl, classroomUrl, ...deps } = await clubExportDeps();
  return { ...deps, exports: { publicUrl, classroomUrl } };
}

export async function beginClubExport(club: TestClub): Promise<Id> {
  const accepted = await callsOf(club)('POST', '/exports');
  if (accepted.status !== 202) throw new Error(`The export was refused: ${accepted.text}`);
  return accepted.body.data.id;
}

/** Acts as a worker that is not stopping. */
export async function stepExport(exportId: Id, deps?: ClubExportDeps, at = clock.now()): Promise<ClubExportStep> {
  const watcher = { beat() {}, stop: new AbortController().signal };
  return stepClubExport(deps ?? (await clubExportDeps()), exportId, at.getTime(), watcher);
}

/** Steps until the export waits, for example for its erasure, or has ended. */
export async function runClubExport(exportId: Id, deps?: ClubExportDeps, at?: Date): Promise<ClubExportStep> {
  for (;;) {
    const next = await stepExport(exportId, deps, at);
    if (next.done || next.at !== undefined) return next;
  }
}

export async function readClubExport(club: TestClub, exportId: Id): Promise<RecordOf<'ClubExport'>> {
  return (await callsOf(club)('GET', `/exports/${exportId}`)).body.data;
}

export interface ReadArchive {
  manifest: Manifest;
  /** The lines of each type, by the name of its schema. */
  lines: Readonly<Record<string, ExportLine[]>>;
  /** The names of the files in the archive, in their order. */
  names: string[];
}

/** Downloads a ready archive, and checks each file against the manifest. @throws Error if a file differs from the manifest */
export async function readArchiveOf(club: TestClub, exportId: Id): Promise<ReadArchive> {
  const { archive } = await readClubExport(club, exportId);
  if (!archive) throw new Error('The export has no archive');
  const bytes = Buffer.from(await (await fetch(archive.url)).arrayBuffer());
  if (bytes.length !== archive.size_bytes) throw new Error(`The archive has ${bytes.length} bytes`);
  const files = await filesIn(bytes);
  const manifest = JSON.parse(files.get('manifest.json')?.toString() ?? '') as Manifest;
  const lines = manifest.files.map(({ name, schema, records, sha256 }) => {
    const content = files.get(name) ?? Buffer.alloc(0);
    const read = content.toString().split('\n').slice(0, -1);
    const isRight = read.length === records && createHash('sha256').update(content).digest('hex') === sha256;
    if (!isRight) throw new Error(`${name} differs from the manifest`);
    return [schema, read.map((line) => JSON.parse(line) as ExportLine)] as const;
  });
  return { manifest, lines: Object.fromEntries(lines), names: [...files.keys()] };
}

async function filesIn(bytes: Buffer): Promise<Map<string, Buffer>> {
  const zip = await yauzl.fromBufferPromise(bytes, { strictFileNames: true });
  const files = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    const chunks: Buffer[] = [];
    for await (const chunk of await zip.openReadStreamPromise(entry)) chunks.push(chunk as Buffer);
    files.set(entry.fileName, Buffer.concat(chunks));
  }
  return files;
}

/** Requests an export of the club, runs it, and reads its archive. */
export async function exportClub(club: TestClub, deps?: ClubExportDeps): Promise<ReadArchive> {
  const exportId = await beginClubExport(club);
  await runClubExport(exportId, deps);
  return readArchiveOf(club, exportId);
}
