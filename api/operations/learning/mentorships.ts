/** Mentorships: administrators write them; students book sessions. */
import * as booking from '../../../domain/mentorships/booking.ts';
import * as classroom from '../../../domain/mentorships/classroom.ts';
import * as mentorships from '../../../domain/mentorships/mentorships.ts';
import * as sessions from '../../../domain/mentorships/sessions.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const listMentorships: Operation<'listMentorships'> = async ({ params, query, db }) =>
  page(await mentorships.listMentorships(db, params.clubId, query));

export const createMentorship: Operation<'createMentorship'> = async ({ params, body, deps, now }) =>
  data(await mentorships.createMentorship(deps, params.clubId, body, now));

export const getMentorship: Operation<'getMentorship'> = async ({ params, db }) =>
  data(await mentorships.findMentorship(db, params.clubId, params.mentorshipId));

export const updateMentorship: Operation<'updateMentorship'> = async ({ params, body, deps, now }) =>
  data(await mentorships.updateMentorship(deps, params.clubId, params.mentorshipId, body, now));

export const listMentorshipSessions: Operation<'listMentorshipSessions'> = async ({ params, query, db, now }) =>
  page(await sessions.listSessions(db, params.clubId, query, now));

export const getMentorshipSession: Operation<'getMentorshipSession'> = async ({ params, db, now }) =>
  data(await sessions.findSession(db, params.clubId, params.sessionId, now));

export const cancelMentorshipSession: Operation<'cancelMentorshipSession'> = async ({ params, body, deps, now }) =>
  data(await booking.cancelSession(deps, params.clubId, params.sessionId, body.reason, now));

export const setMentorshipNoShow: Operation<'setMentorshipNoShow'> = async ({ params, deps, now }) =>
  data(await booking.setNoShow(deps, params.clubId, params.sessionId, true, now));

export const clearMentorshipNoShow: Operation<'clearMentorshipNoShow'> = async ({ params, deps, now }) =>
  data(await booking.setNoShow(deps, params.clubId, params.sessionId, false, now));

export const listOpenMentorships: Operation<'listOpenMentorships'> = async ({ query, student, db, now }) =>
  page(await classroom.listOpenMentorships(db, student, query, now));

export const getOpenMentorship: Operation<'getOpenMentorship'> = async ({ params, student, db, now }) =>
  data(await classroom.readOpenMentorship(db, student, params.publicId, now));

export const getMentorshipSlots: Operation<'getMentorshipSlots'> = async ({ params, query, student, db, now }) =>
  data(await classroom.listSlots(db, student, params.publicId, query, now));

export const bookMentorshipSession: Operation<'bookMentorshipSession'> = async ({ params, body, student, deps, now }) =>
  data(await booking.bookSession(deps, student, params.publicId, body, now));

export const listOwnMentorshipSessions: Operation<'listOwnMentorshipSessions'> = async ({ query, student, db, now }) =>
  page(await sessions.listOwnSessions(db, student, query, now));

export const getOwnMentorshipSession: Operation<'getOwnMentorshipSession'> = async ({ params, student, db, now }) =>
  data(await sessions.findOwnSession(db, student, params, now));

export const cancelOwnMentorshipSession: Operation<'cancelOwnMentorshipSession'> = async (request) => {
  const { params, student, deps, now } = request;
  return data(await booking.cancelOwnSession(deps, student, params, now));
};

export const setMentorshipAgenda: Operation<'setMentorshipAgenda'> = async ({ params, body, student, deps, now }) =>
  data(await booking.setAgenda(deps, student, params, body.agenda, now));

export const rateMentorshipSession: Operation<'rateMentorshipSession'> = async ({ params, body, student, deps, now }) =>
  data(await booking.rateSession(deps, student, params, body, now));
