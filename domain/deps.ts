/** Defines the dependencies of domain functions: the services of the process that they use in addition to their arguments. */
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';

export interface DatabaseDeps {
  db: Database;
}

export interface VaultDeps extends DatabaseDeps {
  vault: Vault;
}

/** The dependencies of functions that return students or administrators with signed URLs of their pictures. */
export interface StudentDeps extends VaultDeps {
  storage: ObjectStore;
}

/** The dependencies of functions that return URLs of this service. */
export interface AddressedDeps extends VaultDeps {
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
  /** The URL of the classrooms, without a slash at the end. `{slug}` stands for the club's slug. */
  classroomUrl: string;
}
