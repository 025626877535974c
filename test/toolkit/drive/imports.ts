/** Imports in tests: uploaded through the API, and worked through by the step itself, with the run's real store. */
import { ListObjectsV2Command, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { readConfig } from '../../../config.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { stepImport, type ImportPlatform, type ImportStep } from '../../../domain/access/import-step.ts';
import { createObjectStore, type ObjectStore } from '../../../domain/core/object-store.ts';
import type { Id } from '../../../domain/core/ids.ts';
import { call, clock, type Answer, type Call } from './api.ts';
import { testDatabase, testPlatform } from '../stack/database.ts';
import type { TestClub } from '../builders/factories.ts';
import { testStack } from '../stack/stack.ts';

export type ImportRecord = RecordOf<'StudentImport'>;
export type ReportRow = RecordOf<'StudentImportRow'>;

export const importsPath = ({ id }: { id: Id }, ...further: string[]) =>
  [`/v1/clubs/${id}/student-imports`, ...further].join('/');

/** Uploads a file as the club's owner. @param query such as `invite=true&delivery_ids=…` */
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

let store: ObjectStore | undefined;
let s3: S3Client | undefined;
async function testStore(): Promise<ObjectStore> {
  await testStack();
  store ??= createObjectStore(readConfig().storage);
  return store;
}

/** What the step needs, with parts of it replaced. */
export async function importPlatform(
  replaced: (usual: ImportPlatform) => Partial<ImportPlatform> = () => ({}),
): Promise<ImportPlatform> {
  const usual = { ...(await testPlatform()), storage: await testStore(), failpoint: async () => {} };
  return { ...usual, ...replaced(usual) };
}

/** One step, by the API's clock. */
export async function step(importId: Id, platform?: ImportPlatform): Promise<ImportStep> {
  return stepImport(platform ?? (await importPlatform()), importId, clock.now().getTime());
}

/** Steps until there is nothing left to do, or to wait for. */
export async function runImport(importId: Id, platform?: ImportPlatform): Promise<ImportStep> {
  for (;;) {
    const next = await step(importId, platform);
    if (next.done || next.at !== undefined) return next;
  }
}

/** Uploads a file and works through it. @returns the import's record at its end */
export async function importFile(club: TestClub, file: string | Uint8Array, query = ''): Promise<ImportRecord> {
  const accepted = await upload(club, file, query);
  if (accepted.status !== 202) throw new Error(`The upload was refused: ${accepted.text}`);
  await runImport(accepted.body.data.id);
  return readImport(club, accepted.body.data.id);
}

export async function readImport(club: TestClub, importId: Id): Promise<ImportRecord> {
  return (await call('GET', importsPath(club, importId), { token: club.owner.token })).body.data;
}

/** The whole report, page after page. */
export async function reportOf(club: TestClub, importId: Id, filter = ''): Promise<ReportRow[]> {
  const rows: ReportRow[] = [];
  for (let page = 1; ; page++) {
    const path = `${importsPath(club, importId, 'rows')}?page=${page}&page_size=100${filter}`;
    const { body } = await call('GET', path, { token: club.owner.token });
    rows.push(...body.data);
    if (rows.length >= body.total) return rows;
  }
}

/** The report in short: `2 created`, `3 failed email_invalid email`. */
export async function shortReport(club: TestClub, importId: Id): Promise<string[]> {
  const rows = await reportOf(club, importId);
  return rows.map(({ row, outcome, code, column }) => [row, outcome, code, column].filter(Boolean).join(' '));
}

/** What the private bucket holds of a club: files, and uploads that have not ended. */
export async function storedOf(club: { id: Id }): Promise<string[]> {
  await testStack();
  const { endpoint, region, accessKeyId, secretAccessKey, privateBucket: Bucket } = readConfig().storage;
  s3 ??= new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId: accessKeyId.reveal(), secretAccessKey: secretAccessKey.reveal() },
  });
  const Prefix = `student-imports/${club.id}/`;
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix }));
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix }));
  return [...Contents, ...Uploads].map(({ Key = '' }) => Key);
}

export interface MemberOfClub {
  email: string;
  name: string;
  /** Deliveries that they have now, by their ids. */
  deliveries: string[];
}

/** The club's students by address, with what they have. */
export async function studentsOf(club: { id: Id }): Promise<MemberOfClub[]> {
  const source = await testDatabase();
  return source.query<MemberOfClub[]>(
    `SELECT email, name, ARRAY (SELECT delivery_id::text FROM enrollments
                                 WHERE student_id = student.id AND revoked_at IS NULL AND superseded_at IS NULL ORDER BY 1) AS deliveries
       FROM students student WHERE club_id = $1 AND removed_at IS NULL ORDER BY email`,
    [club.id],
  );
}
