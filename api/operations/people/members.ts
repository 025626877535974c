/** The administrators of a club and their roles. */
import * as leaving from '../../../domain/administrators/leaving.ts';
import * as members from '../../../domain/clubs/members.ts';
import * as signInRules from '../../../domain/clubs/sign-in-rules.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listMembers: Operation<'listMembers'> = async ({ params, query, db, now }) =>
  page(await members.listMembers(db, params.clubId, query, now));

export const inviteMember: Operation<'inviteMember'> = async ({ params, body, administrator, deps, now }) =>
  data(await members.inviteMember(deps, params.clubId, administrator.id, body, now));

export const changeMemberRole: Operation<'changeMemberRole'> = async ({ params, body, administrator, deps, now }) =>
  data(await members.changeMemberRole(deps, params.clubId, administrator.id, params.administratorId, body.role, now));

export const removeMember: Operation<'removeMember'> = async ({ params, administrator, deps, now }) =>
  noContent(await leaving.removeMember(deps, { ...params, by: administrator.id }, now));

export const leaveClub: Operation<'leaveClub'> = async ({ params, administrator, deps, now }) =>
  noContent(await leaving.leaveClub(deps, params.clubId, administrator.id, now));

export const revokeInvitation: Operation<'revokeInvitation'> = async ({ params, administrator, deps }) =>
  noContent(await members.revokeInvitation(deps, params.clubId, administrator.id, params.invitationId));

export const getSignInRules: Operation<'getSignInRules'> = async ({ params, db }) =>
  data(await signInRules.getSignInRules(db, params.clubId));

export const setSignInRules: Operation<'setSignInRules'> = async ({ params, body, administrator, deps }) =>
  data(await signInRules.setSignInRules(deps, params.clubId, administrator, body));
