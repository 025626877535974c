/** Community spaces: administrators manage them; students use them. */
import * as classroom from '../../../domain/community/classroom.ts';
import * as members from '../../../domain/community/members.ts';
import * as memberships from '../../../domain/community/memberships.ts';
import * as spaces from '../../../domain/community/spaces.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listCommunitySpaces: Operation<'listCommunitySpaces'> = async ({ params, query, db, deps }) =>
  page(await spaces.listSpaces(db, deps.storage, params.clubId, query));

export const createCommunitySpace: Operation<'createCommunitySpace'> = async ({ params, body, deps, now }) =>
  data(await spaces.createSpace(deps, params.clubId, body, now));

export const orderCommunitySpaces: Operation<'orderCommunitySpaces'> = async ({ params, body, deps }) =>
  noContent(await spaces.orderSpaces(deps, params.clubId, body.space_ids));

export const getCommunitySpace: Operation<'getCommunitySpace'> = async ({ params, db, deps }) =>
  data(await spaces.readSpace(db, deps.storage, params.clubId, params.spaceId));

export const updateCommunitySpace: Operation<'updateCommunitySpace'> = async ({ params, body, deps, now }) =>
  data(await spaces.updateSpace(deps, params.clubId, params.spaceId, body, now));

export const archiveCommunitySpace: Operation<'archiveCommunitySpace'> = async ({ params, deps, now }) =>
  data(await spaces.archiveSpace(deps, params.clubId, params.spaceId, now));

export const unarchiveCommunitySpace: Operation<'unarchiveCommunitySpace'> = async ({ params, deps, now }) =>
  data(await spaces.unarchiveSpace(deps, params.clubId, params.spaceId, now));

export const listSpaceMembers: Operation<'listSpaceMembers'> = async ({ params, query, db, now }) =>
  page(await members.listMembers(db, params, query, now));

export const removeSpaceMember: Operation<'removeSpaceMember'> = async ({ params, deps, now }) =>
  noContent(await members.removeMember(deps, params, now));

export const banSpaceMember: Operation<'banSpaceMember'> = async ({ params, deps, now }) =>
  noContent(await members.banMember(deps, params, now));

export const unbanSpaceMember: Operation<'unbanSpaceMember'> = async ({ params, deps, now }) =>
  noContent(await members.unbanMember(deps, params, now));

export const listClassroomSpaces: Operation<'listClassroomSpaces'> = async ({ query, student, db, deps, now }) =>
  page(await classroom.listVisibleSpaces(db, deps.storage, student, query, now));

export const getClassroomSpace: Operation<'getClassroomSpace'> = async ({ params, student, db, deps, now }) =>
  data(await classroom.readVisibleSpace(db, deps.storage, student, params.spaceId, now));

export const joinCommunitySpace: Operation<'joinCommunitySpace'> = async ({ params, student, deps, now }) =>
  data(await memberships.joinSpace(deps, student, params.spaceId, now));

export const updateSpaceMembership: Operation<'updateSpaceMembership'> = async ({ params, body, student, deps, now }) =>
  data(await memberships.updateMembership(deps, student, params.spaceId, body, now));

export const leaveCommunitySpace: Operation<'leaveCommunitySpace'> = async ({ params, student, deps, now }) =>
  data(await memberships.leaveSpace(deps, student, params.spaceId, now));

export const markCommunitySpaceRead: Operation<'markCommunitySpaceRead'> = async ({
  params,
  body,
  student,
  deps,
  now,
}) => data(await memberships.markSpaceRead(deps, student, params.spaceId, body.read_until, now));
