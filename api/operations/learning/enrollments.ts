/** Students' access: administrators change it by hand; students see their own. */
import * as byHand from '../../../domain/access/enrollments/by-hand.ts';
import * as listing from '../../../domain/access/enrollments/listing.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listEnrollments: Operation<'listEnrollments'> = async ({ params, query, db, now }) =>
  page(await listing.listEnrollments(db, params.clubId, query, now));

export const listOwnEnrollments: Operation<'listOwnEnrollments'> = async ({ student, query, db, now }) =>
  page(await listing.listOwnEnrollments(db, student.id, query, now));

export const getEnrollment: Operation<'getEnrollment'> = async ({ params, db, now }) =>
  data(await listing.readEnrollment(db, params.clubId, params.enrollmentId, now));

export const grantEnrollment: Operation<'grantEnrollment'> = async ({ params, body, deps, now }) =>
  data(await byHand.grantEnrollment(deps, params.clubId, body, now));

export const revokeEnrollment: Operation<'revokeEnrollment'> = async ({ params, deps, now }) =>
  data(await byHand.revokeEnrollment(deps, params.clubId, params.enrollmentId, now));

export const restoreEnrollment: Operation<'restoreEnrollment'> = async ({ params, deps, now }) =>
  data(await byHand.restoreEnrollment(deps, params.clubId, params.enrollmentId, now));

export const moveEnrollment: Operation<'moveEnrollment'> = async ({ params, body, deps, now }) =>
  data(await byHand.moveEnrollment(deps, params.clubId, params.enrollmentId, body.cohort_id, now));

export const setEnrollmentEnd: Operation<'setEnrollmentEnd'> = async ({ params, body, deps, now }) =>
  data(await byHand.setEnrollmentEnd(deps, params.clubId, params.enrollmentId, body.ends_at, now));

export const removeEnrollment: Operation<'removeEnrollment'> = async ({ params, deps, now }) =>
  noContent(await byHand.removeEnrollment(deps, params.clubId, params.enrollmentId, now));
