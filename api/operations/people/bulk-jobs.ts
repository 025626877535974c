/** Bulk jobs: one action on many students. Administrators and programs begin, monitor and cancel them. */
import * as begin from '../../../domain/bulk/begin.ts';
import * as jobs from '../../../domain/bulk/jobs.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const bulkTagStudents: Operation<'bulkTagStudents'> = async ({ params, body, deps, now }) =>
  data(await begin.beginTagging(deps, { ...params, ...body }, now));

export const bulkUntagStudents: Operation<'bulkUntagStudents'> = async ({ params, body, deps, now }) =>
  data(await begin.beginUntagging(deps, { ...params, ...body }, now));

export const bulkGrantAccess: Operation<'bulkGrantAccess'> = async ({ params, body, deps, now }) =>
  data(await begin.beginGranting(deps, { ...params, ...body }, now));

export const bulkRevokeAccess: Operation<'bulkRevokeAccess'> = async ({ params, body, deps, now }) =>
  data(await begin.beginRevoking(deps, { ...params, ...body }, now));

export const bulkAwardPoints: Operation<'bulkAwardPoints'> = async ({ params, body, deps, now }) =>
  data(await begin.beginAwarding(deps, { ...params, ...body }, now));

export const listBulkJobs: Operation<'listBulkJobs'> = async ({ params, query, db }) =>
  page(await jobs.listJobs(db, params.clubId, query));

export const getBulkJob: Operation<'getBulkJob'> = async ({ params, db }) =>
  data(await jobs.findJob(db, params.clubId, params.jobId));

export const listBulkJobRows: Operation<'listBulkJobRows'> = async ({ params, query, db }) =>
  page(await jobs.listJobRows(db, params.clubId, params.jobId, query));

export const cancelBulkJob: Operation<'cancelBulkJob'> = async ({ params, deps, now }) =>
  data(await jobs.cancelJob(deps, params.clubId, params.jobId, now));
