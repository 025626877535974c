/** Manages the administrators of a club: the members with their roles, and the open invitations. A club never loses its last owner. */
import { Invitation } from '../../entities/clubs/invitation.ts';
import { Membership } from '../../entities/clubs/membership.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, selection, sql } from '../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { plainName } from '../../platform/core/text/names.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { DatabaseDeps, StudentDeps, VaultDeps } from '../deps.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { requestInvitation } from '../mail/transactional/requests.ts';
import { openAdministratorSession, sessionAfterFirstFactor } from '../identity/accounts/administrator-accounts.ts';
import type { ProviderDeps } from '../identity/providers/deps.ts';
import { joinToAccount } from '../identity/providers/identities.ts';
import { lockJoin } from '../identity/providers/joins.ts';
import type { Client } from '../identity/sessions/sessions.ts';
import {
  invitationOfToken,
  spendToken,
  tokenGone,
  tokenLifetimeMs,
  withdrawTokensOf,
} from '../mail/codes/one-time-tokens.ts';
import { requireStrongPassword, requireUnknown } from '../identity/passwords/password-rules.ts';
import { hashPassword } from '../identity/passwords/passwords.ts';
import {
  endInvitationsBy,
  lockClub,
  lockMembers,
  mayTouchOwners,
  requireOtherOwner,
  roleOf,
} from './membership-rules.ts';
import { rolesGivenBy, rolesNoLongerGiven } from './roles.policy.ts';
import type { Role } from '../../entities/clubs/values.ts';

type Member = RecordOf<'Member'>;
type AdministratorSession = RecordOf<'AdministratorSession'>;

interface MemberRow {
  administratorId: Id | null;
  invitationId: Id | null;
  name: string | null;
  email: string;
  role: Role;
  since: Date;
  expiresAt: Date | null;
  /** Null for an invitation. */
  hasSecondFactor: boolean | null;
  /** The time at which the deferred mail of an open invitation will be sent; null if the mail was not deferred. */
  mailWithheldUntil: Date | null;
}

/**
 * Returns a FROM clause with the rows `member`: the club's members and its open invitations. The columns get their names from the first
 * half of the UNION.
 */
const membersOf = (clubId: Id, now: Date) => sql`FROM (
  SELECT ${columns(Membership, { administratorId: 'administratorId', role: 'role', since: 'joinedAt' }, 'membership')},
         administrator.email, administrator.name, NULL::uuid AS "invitationId", NULL::timestamptz AS "expiresAt",
         NULL::timestamptz AS "mailWithheldUntil", administrator.has_second_factor AS "hasSecondFactor"
    FROM memberships membership JOIN administrators administrator ON administrator.id = membership.administrator_id
   WHERE membership.club_id = ${clubId} AND administrator.removed_at IS NULL
  UNION ALL
  SELECT NULL, role, invited_at, email, NULL, id, expires_at,
         (SELECT max(mail.next_attempt_at) FROM transactional_mails mail
           WHERE mail.invitation_id = invitations.id AND mail.status = 'pending' AND mail.attempt_count = 0 AND mail.next_attempt_at > ${now}), NULL
    FROM invitations WHERE club_id = ${clubId}) AS member`;
const memberColumns = selection<MemberRow>(sql`*`);

/** @returns the members and then the open invitations, each part sorted by e-mail address */
export async function listMembers(db: Queries, clubId: Id, page: PageRequest, now: Date): Promise<Page<Member>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: memberColumns,
    from: sql`${membersOf(clubId, now)} WHERE true`,
    orderBy: [ascending('"administratorId" IS NULL', 'boolean'), ascending('email', 'text')],
  });
  return { rows: rows.map(presentMember), total, next };
}

/**
 * Invites a person by e-mail. A new invitation to the same address replaces the open invitation. If the club has sent the address too
 * many mails, the mail is deferred, and the answer says until when (DEC-141).
 * @throws DomainError role_not_permitted, when the caller is not an owner, and the new invitation or the invitation that it replaces is for
 * an owner; already_member, when a member has this address
 */
export async function inviteMember(
  { db, vault }: VaultDeps,
  clubId: Id,
  by: Id,
  input: { email: string; role: Role },
  now: Date,
): Promise<Member> {
  const email = foldEmail(input.email);
  return db.transaction(async (tx) => {
    const actor = await lockClub(tx, clubId, by);
    mayTouchOwners(actor, input.role);
    const member =
      await tx.one(sql`SELECT 1 FROM memberships membership JOIN administrators administrator ON administrator.id = membership.administrator_id
        WHERE membership.club_id = ${clubId} AND administrator.email = ${email}`);
    if (member) throw new DomainError('already_member', 'This person is a member already. Change the role instead.');

    const replaced = await tx.rows<{ role: Role }>(
      sql`DELETE FROM invitations WHERE club_id = ${clubId} AND email = ${email} RETURNING role`,
    );
    mayTouchOwners(actor, ...replaced.map(({ role }) => role));
    const id = newId();
    const expiresAt = new Date(now.getTime() + tokenLifetimeMs.administrator_invitation);
    await tx.manager.insert(Invitation, {
      id,
      clubId,
      email,
      role: input.role,
      invitedBy: by,
      invitedAt: now,
      expiresAt,
    });
    const template = 'administrator_invitation';
    const request = { template, clubId, recipient: { invitationId: id }, email } as const;
    const mailWithheldUntil = await requestInvitation(tx, vault, request, now);
    return presentMember({
      administratorId: null,
      invitationId: id,
      name: null,
      email,
      role: input.role,
      since: now,
      expiresAt,
      hasSecondFactor: null,
      mailWithheldUntil,
    });
  });
}

/**
 * Accepts an invitation by its token, and makes the invited person a member. If the e-mail address has no account, the person gets a new
 * account. Only the owner of the address can read the mail, so the account counts as confirmed. The function locks the club before it uses
 * the token. So the inviter's role cannot change at the same time, and all changes of members take locks in the same order.
 * @throws DomainError weak_password; token_gone; invalid_request if a new account lacks a name or a password; second_factor_required after
 * the person became a member
 */
export async function acceptInvitation(
  { db, vault, storage, providers }: ProviderDeps & StudentDeps,
  input: { token: string; name?: string; password?: string; join_token?: string },
  client: Client,
  now: Date,
): Promise<AdministratorSession> {
  if (input.password !== undefined) requireStrongPassword(input.password);
  const passwordHash = input.password === undefined ? null : await hashPassword(input.password);
  const result = await db.transaction(async (tx) => {
    await lockClubOf(tx, await invitationOfToken(tx, input.token, now));
    const { invitationId } = await spendToken(tx, ['administrator_invitation'], input.token, now);
    const invitation = await tx.one<Pick<Invitation, 'clubId' | 'email' | 'role' | 'invitedBy'>>(
      sql`DELETE FROM invitations WHERE id = ${invitationId} RETURNING ${columns(Invitation, ['clubId', 'email', 'role', 'invitedBy'])}`,
    );
    if (!invitation) throw tokenGone();
    await requireGiver(tx, invitation);

    const clubName = await nameOf(tx, invitation.clubId);
    const administratorId =
      (await findConfirmed(tx, invitation.email)) ??
      (input.join_token === undefined
        ? await openAccount(tx, invitation.email, { ...input, passwordHash }, clubName, now)
        : await openAccountByIdentity(tx, { vault, providers }, invitation.email, input.join_token, input.name, now));
    await tx.run(
      sql`INSERT INTO memberships (club_id, administrator_id, role, joined_at) VALUES (${invitation.clubId}, ${administratorId}, ${invitation.role}, ${now}) ON CONFLICT DO NOTHING`,
    );
    return openAdministratorSession(tx, { storage, vault }, administratorId, { openedBy: 'mail', ...client }, now);
  });
  return sessionAfterFirstFactor(result);
}

async function nameOf(tx: Transaction, clubId: Id): Promise<string> {
  const club = await tx.one<{ name: string }>(sql`SELECT name FROM clubs WHERE id = ${clubId}`);
  return club?.name ?? '';
}

/**
 * Checks again whether the inviter may still give the role. During an upgrade, processes of the previous release do not end the invitations
 * of an inviter who loses a role.
 * @throws DomainError token_gone if the inviter may no longer give the role
 */
async function requireGiver(
  tx: Transaction,
  { clubId, role, invitedBy }: Pick<Invitation, 'clubId' | 'role' | 'invitedBy'>,
): Promise<void> {
  if (invitedBy === null) return;
  if (!rolesGivenBy(await roleOf(tx, clubId, invitedBy)).includes(role)) throw tokenGone();
}

/** A confirmed account keeps its name and its ways to sign in, because the invitation only gives access to the club. */
async function findConfirmed(tx: Transaction, email: string): Promise<Id | undefined> {
  const account = await tx.one<{ id: Id }>(
    sql`SELECT id FROM administrators WHERE email = ${email} AND verified_at IS NOT NULL`,
  );
  return account?.id;
}

/** Opens the account of the invited person with a password. @throws DomainError invalid_request, weak_password */
async function openAccount(
  tx: Transaction,
  email: string,
  input: { name?: string; password?: string; passwordHash: string | null },
  clubName: string,
  now: Date,
): Promise<Id> {
  if (input.name === undefined || input.passwordHash === null) {
    throw new DomainError('invalid_request', 'name and password are required, because this e-mail has no account yet.');
  }
  requireUnknown(input.password ?? '', { email, names: [input.name, clubName] }); // if this check fails, the token stays valid
  return confirmedAccount(tx, email, plainName(input.name), input.passwordHash, now);
}

/** Opens the account of the invited person without a password, and joins the identity to it. @throws DomainError token_gone, invalid_request */
async function openAccountByIdentity(
  tx: Transaction,
  { vault, providers }: Pick<ProviderDeps, 'vault' | 'providers'>,
  email: string,
  joinToken: string,
  name: string | undefined,
  now: Date,
): Promise<Id> {
  const join = await lockJoin(tx, providers, joinToken, now);
  if (!join) throw tokenGone();
  const shownName = name === undefined ? join.name : plainName(name);
  if (shownName === null)
    throw new DomainError('invalid_request', 'name is required, because the identity provider has given no name.');
  const administratorId = await confirmedAccount(tx, email, shownName, null, now);
  if ((await joinToAccount(tx, vault, administratorId, join, now)) === undefined) throw tokenGone();
  return administratorId;
}

/** An unconfirmed account may be a stranger's, so the owner of the address sets its name and password again. @throws DomainError token_gone */
async function confirmedAccount(
  tx: Transaction,
  email: string,
  name: string,
  passwordHash: string | null,
  now: Date,
): Promise<Id> {
  const account = await tx.one<{
    id: Id;
  }>(sql`INSERT INTO administrators (id, name, email, password_hash, verified_at, created_at) VALUES (${newId()}, ${name}, ${email}, ${passwordHash}, ${now}, ${now})
     ON CONFLICT (email) DO UPDATE
        SET name = excluded.name, password_hash = excluded.password_hash, verified_at = excluded.verified_at
      WHERE administrators.verified_at IS NULL
     RETURNING id`);
  if (!account) throw tokenGone();
  await withdrawTokensOf(tx, { administratorId: account.id });
  return account.id;
}

/** @throws DomainError not_found, role_not_permitted, last_owner */
export async function changeMemberRole(
  { db }: DatabaseDeps,
  clubId: Id,
  by: Id,
  administratorId: Id,
  role: Role,
  now: Date,
): Promise<Member> {
  return db.transaction(async (tx) => {
    const actor = await lockClub(tx, clubId, by);
    const current = await roleOf(tx, clubId, administratorId);
    if (current === undefined) throw notFound('member');
    mayTouchOwners(actor, role, current);
    if (current === 'owner' && role !== 'owner') await requireOtherOwner(tx, clubId, administratorId);
    await tx.manager.update(Membership, { clubId, administratorId }, { role });
    await endInvitationsBy(tx, clubId, administratorId, rolesNoLongerGiven(current, role));
    const row = await tx.one<MemberRow>(
      sql`SELECT ${memberColumns} ${membersOf(clubId, now)} WHERE "administratorId" = ${administratorId}`,
    );
    if (!row) throw notFound('member');
    return presentMember(row);
  });
}

/** @throws DomainError not_found, role_not_permitted */
export async function revokeInvitation({ db }: DatabaseDeps, clubId: Id, by: Id, invitationId: Id): Promise<void> {
  await db.transaction(async (tx) => {
    const actor = await lockClub(tx, clubId, by);
    const invitation = await tx.one<{ role: Role }>(
      sql`SELECT role FROM invitations WHERE id = ${invitationId} AND club_id = ${clubId} FOR UPDATE`,
    );
    if (!invitation) throw notFound('invitation');
    mayTouchOwners(actor, invitation.role);
    await tx.manager.delete(Invitation, { id: invitationId });
  });
}

/** @throws DomainError token_gone if the invitation has already ended */
async function lockClubOf(tx: Transaction, invitationId: Id): Promise<void> {
  const invitation = await tx.one<{ clubId: Id }>(
    sql`SELECT ${columns(Invitation, ['clubId'])} FROM invitations WHERE id = ${invitationId}`,
  );
  if (!invitation) throw tokenGone();
  await lockMembers(tx, invitation.clubId);
}

function presentMember(row: MemberRow): Member {
  const common = { email: row.email, role: row.role };
  if (row.administratorId !== null) {
    return {
      ...common,
      status: 'active',
      administrator_id: row.administratorId,
      ...(row.name !== null && { name: row.name }),
      ...(row.hasSecondFactor !== null && { has_second_factor: row.hasSecondFactor }),
      joined_at: row.since.toISOString(),
    };
  }
  return {
    ...common,
    status: 'invited',
    ...(row.invitationId !== null && { invitation_id: row.invitationId }),
    invited_at: row.since.toISOString(),
    ...(row.expiresAt !== null && { expires_at: row.expiresAt.toISOString() }),
    ...(row.mailWithheldUntil !== null && { mail_withheld_until: row.mailWithheldUntil.toISOString() }),
  };
}
