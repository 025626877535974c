/** Adds the passkey that an authenticator has created, for administrators and students alike (PKY-1, PKY-3). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Passkey } from '../../../entities/identity/passkey.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { issueChallenge, readChallenge, spendChallenge, type ReadChallenge } from './challenges.ts';
import { passkeyRules } from './passkeys.policy.ts';
import { keyAlgorithms } from './public-keys.policy.ts';
import type { PasskeySites } from './sites.policy.ts';
import { idAsBytes } from './user-handles.ts';
import { challengeIn, verifyRegistration, type NewCredential } from './verification.ts';

export interface PasskeyDeps extends VaultDeps {
  passkeySites: PasskeySites;
}

type CreationOptions = RecordOf<'PasskeyCreationOptions'>;
type Registration = RecordOf<'PasskeyRegistration'>;

/** One error for all faults, so that a caller does not learn whether a passkey belongs to another account. */
const passkeyNotAccepted = () =>
  new DomainError('invalid_request', 'The passkey was not accepted. Request new options, and create it again.');

/**
 * @param existing the passkeys of the account
 * @returns the options of `navigator.credentials.create()`. Their challenge is good for 5 minutes and one answer
 */
export function creationOptions(
  vault: Vault,
  rp: CreationOptions['rp'],
  person: { id: Id; email: string; name: string },
  existing: CreationOptions['excludeCredentials'],
  now: Date,
): CreationOptions {
  return {
    rp,
    user: { id: idAsBytes(person.id).toString('base64url'), name: person.email, displayName: person.name },
    challenge: issueChallenge(vault, { use: 'registration', ownerId: person.id }, now),
    pubKeyCredParams: keyAlgorithms.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: passkeyRules.challengeMs,
    excludeCredentials: existing,
    authenticatorSelection: {
      residentKey: 'required' as const,
      requireResidentKey: true,
      userVerification: 'required' as const,
    },
    attestation: 'none' as const,
  };
}

export interface CheckedRegistration {
  readonly challenge: ReadChallenge;
  readonly credential: NewCredential;
  readonly transports: readonly string[];
}

/** Checks a new passkey without a change. @throws DomainError invalid_request for every fault */
export async function checkRegistration(
  vault: Vault,
  registration: Registration,
  { ownerId, ...page }: { ownerId: Id; rpId: string; origin: string },
  now: Date,
): Promise<CheckedRegistration> {
  const challenge = readChallenge(vault, { use: 'registration', ownerId }, challengeIn(registration) ?? '', now);
  const credential = challenge && (await verifyRegistration(registration, { ...page, challenge: challenge.text }));
  if (!challenge || !credential) throw passkeyNotAccepted();
  return { challenge, credential, transports: knownTransports(registration.response.transports) };
}

/** The second factor of an administrator, or the student with the name of the passkey. */
export type NewPasskeyOwner =
  | { readonly factorId: Id }
  | { readonly studentId: Id; readonly clubId: Id; readonly name: string };

const visibleColumns = columns(Passkey, ['id', 'name', 'isSynced', 'createdAt', 'lastUsedAt']);
export type VisiblePasskey = Pick<Passkey, 'id' | 'name' | 'isSynced' | 'createdAt' | 'lastUsedAt'>;

/**
 * Spends the challenge, and stores the passkey. The caller has locked the account.
 * @throws DomainError invalid_request if the challenge is spent, or if an account has this credential already
 */
export async function storePasskey(
  tx: Transaction,
  owner: NewPasskeyOwner,
  { challenge, credential, transports }: CheckedRegistration,
  now: Date,
): Promise<VisiblePasskey> {
  if (!(await spendChallenge(tx, challenge))) throw passkeyNotAccepted();
  const { factorId, studentId, clubId, name } = { factorId: null, studentId: null, clubId: null, name: null, ...owner };
  const row = await tx.one<VisiblePasskey>(sql`
    INSERT INTO passkeys (id, factor_id, student_id, club_id, credential_id, public_key, counter, transports, is_synced, name, created_at)
    VALUES (${newId()}, ${factorId}, ${studentId}, ${clubId}, ${credential.credentialId}, ${credential.publicKey},
            ${credential.counter}, ${transports}, ${credential.isSynced}, ${name}, ${now})
    ON CONFLICT DO NOTHING RETURNING ${visibleColumns}`);
  if (!row) throw passkeyNotAccepted();
  return row;
}

const transportNames: ReadonlySet<string> = new Set(['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']);

/** A browser may send names that the service does not know. They are only hints, so the service leaves them out. */
function knownTransports(names: readonly string[] = []): string[] {
  return [...new Set(names)].filter((name) => transportNames.has(name)).toSorted();
}
