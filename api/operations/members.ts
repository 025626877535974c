/** Who administers the club, and as what. */
import {
  changeMemberRole as changeRole,
  inviteMember as invite,
  listMembers as list,
  removeMember as remove,
  revokeInvitation as revoke,
} from '../../domain/clubs/members.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listMembers: Operation<'listMembers'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const inviteMember: Operation<'inviteMember'> = async ({ params, body, administrator, services, now }) => ({
  data: await invite(services, params.clubId, administrator.id, body, now),
});

export const changeMemberRole: Operation<'changeMemberRole'> = async ({ params, body, administrator, services }) => ({
  data: await changeRole(services.database, params.clubId, administrator.id, params.administratorId, body.role),
});

export const removeMember: Operation<'removeMember'> = async ({ params, administrator, services }) => {
  await remove(services.database, params.clubId, administrator.id, params.administratorId);
  return undefined;
};

export const revokeInvitation: Operation<'revokeInvitation'> = async ({ params, administrator, services }) => {
  await revoke(services.database, params.clubId, administrator.id, params.invitationId);
  return undefined;
};
