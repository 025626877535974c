/** The operations that need a fresh factor: the person proved who they are within the last 10 minutes (FAC-2). */
import type { OperationId } from '../operations.ts';

/**
 * `always`: also for accounts without a second factor, which prove themselves by another factor, such as the password.
 * `if_enrolled`: only for accounts with a second factor. These operations are older than the rule, and their callers must not notice it.
 */
export type FreshFactor = 'always' | 'if_enrolled';

const operations = {
  addAdministratorPasskey: 'always',
  requestClubErasure: 'always',
  cancelClubErasure: 'always',
  createApiKey: 'if_enrolled',
  requestClubExport: 'always',
  rotateApiKey: 'if_enrolled',
  updateApiKey: 'if_enrolled',
  inviteMember: 'if_enrolled',
  changeMemberRole: 'if_enrolled',
  leaveClub: 'if_enrolled',
  removeMember: 'if_enrolled',
  revokeInvitation: 'if_enrolled',
  beginTotp: 'always',
  confirmTotp: 'always',
  eraseOwnAccount: 'always',
  exportAuditLog: 'if_enrolled',
  getStudentExport: 'always',
  requestStudentExport: 'always',
  removeStudent: 'if_enrolled',
  removeSecondFactor: 'always',
  renewRecoveryCodes: 'always',
  addIdentity: 'always',
  removeIdentity: 'always',
  removeIdentityProvider: 'always',
  removePassword: 'always',
  setIdentityProvider: 'always',
  setSignInRules: 'always',
} as const satisfies { readonly [operation in OperationId]?: FreshFactor };

/** @returns undefined if the operation needs no fresh factor */
export function freshFactorOf(operationId: string): FreshFactor | undefined {
  return Object.hasOwn(operations, operationId) ? operations[operationId as keyof typeof operations] : undefined;
}
