/** The dependencies of domain functions: what they need of their process, besides their arguments. */
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { Database } from '../platform/infra/postgres/database.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';

/** For commands that need Postgres alone. */
export interface DatabaseDeps {
  db: Database;
}

export interface VaultDeps extends DatabaseDeps {
  vault: Vault;
}

/** For functions that show students, with signed addresses of their pictures. */
export interface StudentDeps extends VaultDeps {
  storage: ObjectStore;
}

/** For functions that hand out addresses of this service, such as a certificate's. */
export interface AddressedDeps extends VaultDeps {
  /** Where callers reach the API, without a slash at the end. */
  publicUrl: string;
  /** Where classrooms are, without a slash at the end; `{slug}` stands for the club's. */
  classroomUrl: string;
}
