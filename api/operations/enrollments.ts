/** Students' access: what administrators do to it by hand, and what students see of their own. */
import {
  changeEnd,
  grantByHand,
  moveToCohort,
  restoreAccess,
  revokeAccess,
  type Enrollment,
} from '../../domain/access/enrollments/enrollments.ts';
import {
  listEnrollments as list,
  listOwnEnrollments as listOwn,
  readEnrollment,
} from '../../domain/access/enrollments/listing.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { instantOf } from '../../platform/core/instants.ts';
import type { Operation, OperationRequest } from '../operation.ts';
import { listed } from './answers.ts';

export const listEnrollments: Operation<'listEnrollments'> = async ({ params, query, services, now }) =>
  listed(await list(services.database, params.clubId, query, now));

export const listOwnEnrollments: Operation<'listOwnEnrollments'> = async ({ student, query, services, now }) =>
  listed(await listOwn(services.database, student.id, query, now));

export const getEnrollment: Operation<'getEnrollment'> = async ({ params, services, now }) => ({
  data: await readEnrollment(services.database, params.clubId, params.enrollmentId, now),
});

export const grantEnrollment: Operation<'grantEnrollment'> = async (request) =>
  changed(request, (tx, clubId) => grantByHand(tx, clubId, request.body, request.now));

export const revokeEnrollment: Operation<'revokeEnrollment'> = async (request) =>
  changed(request, (tx, clubId) => revokeAccess(tx, clubId, request.params.enrollmentId, 'revocation', request.now));

export const restoreEnrollment: Operation<'restoreEnrollment'> = async (request) =>
  changed(request, (tx, clubId) => restoreAccess(tx, clubId, request.params.enrollmentId, request.now));

export const moveEnrollment: Operation<'moveEnrollment'> = async (request) =>
  changed(request, (tx, clubId) =>
    moveToCohort(tx, clubId, request.params.enrollmentId, request.body.cohort_id.toLowerCase(), request.now),
  );

export const setEnrollmentEnd: Operation<'setEnrollmentEnd'> = async (request) => {
  const { ends_at: end } = request.body;
  const endsAt = end === undefined ? null : instantOf(end, 'ends_at');
  return changed(request, (tx, clubId) => changeEnd(tx, clubId, request.params.enrollmentId, endsAt, request.now));
};

export const removeEnrollment: Operation<'removeEnrollment'> = async ({ params, services, now }) => {
  await services.database.transaction((tx) => revokeAccess(tx, params.clubId, params.enrollmentId, 'removal', now));
  return undefined;
};

/** Makes the change, and answers with the record as it is then. */
async function changed(
  {
    params,
    services,
    now,
  }: { params: { clubId: string } } & Pick<OperationRequest<'getEnrollment'>, 'services' | 'now'>,
  change: (tx: Transaction, clubId: string) => Promise<Enrollment>,
) {
  return services.database.transaction(async (tx) => {
    const { id } = await change(tx, params.clubId);
    return { data: await readEnrollment(tx, params.clubId, id, now) };
  });
}
