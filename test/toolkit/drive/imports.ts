/** Runs imports in tests: uploads files through the API, and makes the steps of the import directly, with the real store. */
import type { RecordOf } from '../../../contract/contract.ts';
import { stepImport, type ImportDeps, type ImportStep } from '../../../domain/access/imports/step.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { call, clock, type Answer, type Call } from './api.ts';
import { testDeps } from '../stack/database.ts';
import { until } from './until.ts';
import { testBucket, testObjectStore } from '../stack/storage.ts';

export type ImportRecord = RecordOf<'StudentImport'>;
type ReportRow = RecordOf<'StudentImportRow'>;

export const importsPath = ({ id }: { id: Id }, ...further: string[]) =>
  [`/v1/clubs/${id}/student-imports`, ...further].join('/');

/** @param query such as `invite=true&delivery_ids=…` */
export function upload(
  club: TestClub,
  file: string | Uint8Array,
  query = '',
  options: Partial<Call> = {},
): Promise<Answer> {
  const path = `${importsPath(club)}${query === '' ? '' : `?${query}`}`;
  const headers = { 'content-type': 'text/csv', ...options.headers };
  return call('POST', path, { token: club.owner.token, raw: file, ...options, headers });
}

export async function importDeps(
  replaced: (usual: ImportDeps) => Partial<ImportDeps> = () => ({}),
): Promise<ImportDeps> {
  const usual = { ...(await testDeps()), storage: await testObjectStore(), failpoint: async () => {} };
  return { ...usual, ...replaced(usual) };
}

/** Uses the API's clock. */
export async function step(importId: Id, deps?: ImportDeps): Promise<ImportStep> {
  return stepImport(deps ?? (await importDeps()), importId, clock.now().getTime());
}

/** Makes steps until the import has ended, or until it must wait for another import. */
export async function runImport(importId: Id, deps?: ImportDeps): Promise<ImportStep> {
  for (;;) {
    const next = await step(importId, deps);
    if (next.done || (next.at !== undefined && !waitsForTurn(next.status))) return next;
  }
}

const waitsForTurn = (status: string) => status === 'pending' || status === 'running';

export async function importFile(club: TestClub, file: string | Uint8Array, query = ''): Promise<ImportRecord> {
  const accepted = await upload(club, file, query);
  if (accepted.status !== 202) throw new Error(`The upload was refused: ${accepted.text}`);
  await runImport(accepted.body.data.id);
  return readImport(club, accepted.body.data.id);
}

export async function readImport(club: TestClub, importId: Id): Promise<ImportRecord> {
  return (await call('GET', importsPath(club, importId), { token: club.owner.token })).body.data;
}

export async function reportOf(club: TestClub, importId: Id, filter = ''): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  for (let page = 1; ; page++) {
    const path = `${importsPath(club, importId, 'rows')}?page=${page}&page_size=100${filter}`;
    const { body } = await call('GET', path, { token: club.owner.token });
    rows.push(...body.data);
    if (rows.length >= body.total) return rows;
  }
}

/** Summarizes the report in lines such as `2 created` and `3 failed email_invalid email`. */
export async function shortReport(club: TestClub, importId: Id): Promise<string[]> {
  const rows = await reportOf(club, importId);
  return rows.map(({ row, outcome, code, column }) => [row, outcome, code, column].filter(Boolean).join(' '));
}

/**
 * Resolves when the store has one part of the club's upload. The API sends no further part yet, because the next part is still incomplete.
 */
export async function untilPartStored(club: { id: Id }): Promise<void> {
  const bucket = await testBucket();
  await until('a part', { timeoutMs: 10_000 }, async () => {
    return (await bucket.storedParts(`student-imports/${club.id}/`)) > 0;
  });
}

/** Returns what the private bucket contains for a club: files and open uploads. */
export async function storedOf(club: { id: Id }): Promise<string[]> {
  const bucket = await testBucket();
  const prefix = `student-imports/${club.id}/`;
  return [...(await bucket.objects(prefix)), ...(await bucket.openUploads(prefix))];
}
