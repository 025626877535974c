/** Deliveries of access (things that a club sells or grants, such as courses), and their cohorts. */
import * as deliveries from '../../../domain/access/deliveries/deliveries.ts';
import * as cohorts from '../../../domain/access/enrollments/cohorts.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listDeliveries: Operation<'listDeliveries'> = async ({ params, query, db }) =>
  page(await deliveries.listDeliveries(db, params.clubId, query));

export const createDelivery: Operation<'createDelivery'> = async ({ params, body, deps, now }) =>
  data(await deliveries.createDelivery(deps, params.clubId, body, now));

export const getDelivery: Operation<'getDelivery'> = async ({ params, db }) =>
  data(await deliveries.findDelivery(db, params.clubId, params.deliveryId));

export const updateDelivery: Operation<'updateDelivery'> = async ({ params, body, deps, now }) =>
  data(await deliveries.updateDelivery(deps, params.clubId, params.deliveryId, body, now));

export const archiveDelivery: Operation<'archiveDelivery'> = async ({ params, deps, now }) =>
  data(await deliveries.archiveDelivery(deps, params.clubId, params.deliveryId, now));

export const unarchiveDelivery: Operation<'unarchiveDelivery'> = async ({ params, deps, now }) =>
  data(await deliveries.unarchiveDelivery(deps, params.clubId, params.deliveryId, now));

export const listCohorts: Operation<'listCohorts'> = async ({ params, query, db }) =>
  page(await cohorts.listCohorts(db, params.clubId, params.courseId, query));

export const createCohort: Operation<'createCohort'> = async ({ params, body, deps, now }) =>
  data(await cohorts.createCohort(deps, params.clubId, params.courseId, body, now));

export const updateCohort: Operation<'updateCohort'> = async ({ params, body, deps, now }) =>
  data(await cohorts.updateCohort(deps, params.clubId, params.cohortId, body, now));

export const deleteCohort: Operation<'deleteCohort'> = async ({ params, deps }) =>
  noContent(await cohorts.deleteCohort(deps, params.clubId, params.cohortId));
