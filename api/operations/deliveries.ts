/** What a club sells or grants, and the cohorts that it opens. */
import {
  createCohort as createOneCohort,
  deleteCohort as deleteOneCohort,
  listCohorts as listCohortsOf,
  updateCohort as updateOneCohort,
} from '../../domain/access/enrollments/cohorts.ts';
import {
  createDelivery as create,
  findDelivery,
  listDeliveries as list,
  setArchived,
  updateDelivery as update,
} from '../../domain/access/deliveries/deliveries.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listDeliveries: Operation<'listDeliveries'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const createDelivery: Operation<'createDelivery'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => create(tx, params.clubId, body, now)),
});

export const getDelivery: Operation<'getDelivery'> = async ({ params, services }) => ({
  data: await findDelivery(services.database, params.clubId, params.deliveryId),
});

export const updateDelivery: Operation<'updateDelivery'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => update(tx, params.clubId, params.deliveryId, body, now)),
});

export const archiveDelivery: Operation<'archiveDelivery'> = async ({ params, services, now }) => ({
  data: await services.database.transaction((tx) => setArchived(tx, params.clubId, params.deliveryId, true, now)),
});

export const unarchiveDelivery: Operation<'unarchiveDelivery'> = async ({ params, services, now }) => ({
  data: await services.database.transaction((tx) => setArchived(tx, params.clubId, params.deliveryId, false, now)),
});

export const listCohorts: Operation<'listCohorts'> = async ({ params, query, services }) =>
  listed(await listCohortsOf(services.database, params.clubId, params.courseId, query));

export const createCohort: Operation<'createCohort'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => createOneCohort(tx, params.clubId, params.courseId, body, now)),
});

export const updateCohort: Operation<'updateCohort'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => updateOneCohort(tx, params.clubId, params.cohortId, body, now)),
});

export const deleteCohort: Operation<'deleteCohort'> = async ({ params, services }) => {
  await services.database.transaction((tx) => deleteOneCohort(tx, params.clubId, params.cohortId));
  return undefined;
};
