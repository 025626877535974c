/** Defines the dependencies of domain functions: the services of the process that they use in addition to their arguments. */
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';

/** The dependencies of commands that use only Postgres. */
export interface DatabaseDeps {
  db: Database;
}

export interface VaultDeps extends DatabaseDeps {
  vault: Vault;
}

/** The dependencies of functions that return students together with signed URLs of the students' pictures. */
export interface StudentDeps extends VaultDeps {
  storage: ObjectStore;
}

/** The dependencies of functions that return URLs of this service, such as the URL of a certificate. */
export interface AddressedDeps extends VaultDeps {
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
  /** The URL of the classrooms, without a slash at the end. `{slug}` stands for the club's slug. */
  classroomUrl: string;
}
