/** Runs bulk jobs in tests. Requests each job through the API, and processes it without a workflow. */
import type { RecordOf } from '../../../contract/contract.ts';
import { stepBulkJob, type BulkJobDeps, type BulkJobStep } from '../../../domain/bulk/step.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TestClub } from '../builders/clubs.ts';
import { testDeps } from '../stack/database.ts';
import { call, clock, type Answer } from './api.ts';
import { callsOf } from './club-calls.ts';

type BulkJobRecord = RecordOf<'BulkJob'>;
type BulkReportRow = RecordOf<'BulkJobRow'>;
type BulkStudents = readonly ({ student_id: Id } | { email: string })[];

export interface BulkRequest {
  path: string;
  body?: object;
}

export function requestBulk(
  club: TestClub,
  { path, body = {} }: BulkRequest,
  students: BulkStudents,
  token = club.owner.token,
): Promise<Answer> {
  return call('POST', `/v1/clubs/${club.id}${path}`, { token, body: { ...body, students } });
}

export async function beginBulk(club: TestClub, request: BulkRequest, students: BulkStudents): Promise<Id> {
  const accepted = await requestBulk(club, request, students);
  if (accepted.status !== 202) throw new Error(`The bulk job was refused: ${accepted.text}`);
  return accepted.body.data.id;
}

export async function bulkJobDeps(failpoint: BulkJobDeps['failpoint'] = async () => {}): Promise<BulkJobDeps> {
  return { ...(await testDeps()), failpoint };
}

/** Uses the API's clock. */
export async function stepBulk(jobId: Id, deps?: BulkJobDeps): Promise<BulkJobStep> {
  return stepBulkJob(deps ?? (await bulkJobDeps()), jobId, clock.now().getTime());
}

/** Steps until the job has ended, or another job runs first. */
export async function runBulk(jobId: Id, deps?: BulkJobDeps): Promise<BulkJobStep> {
  for (;;) {
    const next = await stepBulk(jobId, deps);
    if (next.done || next.at !== undefined) return next;
  }
}

export async function readBulk(club: TestClub, jobId: Id): Promise<BulkJobRecord> {
  return (await callsOf(club)('GET', `/bulk-jobs/${jobId}`)).body.data;
}

export async function bulkReportOf(club: TestClub, jobId: Id, filter = ''): Promise<BulkReportRow[]> {
  const rows: BulkReportRow[] = [];
  for (let page = 1; ; page++) {
    const path = `/bulk-jobs/${jobId}/rows?page=${page}&page_size=100${filter}`;
    const { body } = await callsOf(club)('GET', path);
    rows.push(...body.data);
    if (rows.length >= body.total) return rows;
  }
}

/** A summary of the report: `1 applied`, `2 failed student_not_found`. */
export async function shortBulkReport(club: TestClub, jobId: Id): Promise<string[]> {
  const rows = await bulkReportOf(club, jobId);
  return rows.map(({ row, outcome, code }) => [row, outcome, code].filter((part) => part !== undefined).join(' '));
}
