/** Operations of automations, which are called "workflows" in URLs. */
import * as drafts from '../../../domain/automations/versions/drafts.ts';
import * as dryRuns from '../../../domain/automations/dry-runs/dry-run.ts';
import * as publishing from '../../../domain/automations/versions/publishing.ts';
import * as records from '../../../domain/automations/records.ts';
import * as states from '../../../domain/automations/states.ts';
import * as versions from '../../../domain/automations/versions/versions.ts';
import * as entering from '../../../domain/automations/entering/by-hand.ts';
import * as runs from '../../../domain/automations/runs.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

/** The revision is the `ETag`. */
function revised(answerWith: (name: 'ETag', value: string) => void, { record, revision }: records.Revised) {
  answerWith('ETag', records.etagOf(revision));
  return data(record);
}

export const listAutomations: Operation<'listAutomations'> = async ({ params, query, db }) =>
  page(await drafts.listAutomations(db, params.clubId, query));

export const createAutomation: Operation<'createAutomation'> = async ({ params, body, deps, now, answerWith }) =>
  revised(answerWith, await drafts.createAutomation(deps, params.clubId, body, now));

export const getAutomation: Operation<'getAutomation'> = async ({ params, db, answerWith }) =>
  revised(answerWith, await records.readAutomation(db, params.clubId, params.workflowId));

export const updateAutomation: Operation<'updateAutomation'> = async ({
  params: { clubId, workflowId },
  body,
  header,
  deps,
  now,
  answerWith,
}) => revised(answerWith, await drafts.updateAutomation(deps, clubId, workflowId, body, header('if-match'), now));

export const duplicateAutomation: Operation<'duplicateAutomation'> = async ({ params, deps, now, answerWith }) =>
  revised(answerWith, await drafts.duplicateAutomation(deps, params.clubId, params.workflowId, now));

export const getAutomationProblems: Operation<'getAutomationProblems'> = async ({ params, db }) =>
  data(await drafts.listProblems(db, params.clubId, params.workflowId));

export const dryRunAutomation: Operation<'dryRunAutomation'> = async ({
  params: { clubId, workflowId },
  body,
  deps,
  now,
}) => data(await dryRuns.dryRun(deps, clubId, workflowId, body, now));

export const publishAutomation: Operation<'publishAutomation'> = async ({
  params: { clubId, workflowId },
  header,
  deps,
  now,
  answerWith,
}) => revised(answerWith, await publishing.publishAutomation(deps, clubId, workflowId, header('if-match'), now));

export const pauseAutomation: Operation<'pauseAutomation'> = async ({ params, deps, now, answerWith }) =>
  revised(answerWith, await states.pauseAutomation(deps, params.clubId, params.workflowId, now));

export const resumeAutomation: Operation<'resumeAutomation'> = async ({ params, deps, now, answerWith }) =>
  revised(answerWith, await states.resumeAutomation(deps, params.clubId, params.workflowId, now));

export const archiveAutomation: Operation<'archiveAutomation'> = async ({ params, deps, now, answerWith }) =>
  revised(answerWith, await states.archiveAutomation(deps, params.clubId, params.workflowId, now));

export const listAutomationVersions: Operation<'listAutomationVersions'> = async ({ params, query, db }) =>
  page(await versions.listVersions(db, params.clubId, params.workflowId, query));

export const getAutomationVersion: Operation<'getAutomationVersion'> = async ({ params, db }) =>
  data(await versions.readVersion(db, params.clubId, params.workflowId, params.versionId));

export const compareAutomationVersions: Operation<'compareAutomationVersions'> = async ({ params, query, db }) =>
  data(await versions.compareVersions(db, params.clubId, params.workflowId, query));

export const enrollInAutomation: Operation<'enrollInAutomation'> = async ({ params, body, deps, now }) =>
  data(await entering.enrollByHand(deps, params.clubId, params.workflowId, body, now));

export const listAutomationRuns: Operation<'listAutomationRuns'> = async ({ params, query, db }) =>
  page(await runs.listRuns(db, params.clubId, params.workflowId, query));

export const getAutomationRun: Operation<'getAutomationRun'> = async ({ params, db }) =>
  data(await runs.readRun(db, params.clubId, params.workflowId, params.runId));

export const exitAutomationRun: Operation<'exitAutomationRun'> = async ({ params, deps, now }) =>
  data(await runs.exitRun(deps, params.clubId, params.workflowId, params.runId, now));

export const resumeAutomationRun: Operation<'resumeAutomationRun'> = async ({ params, deps, now }) =>
  data(await runs.resumeRun(deps, params.clubId, params.workflowId, params.runId, now));

export const getAutomationCounts: Operation<'getAutomationCounts'> = async ({ params, query, db }) =>
  data(await runs.readCounts(db, params.clubId, params.workflowId, query.version));
