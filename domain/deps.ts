/** What domain functions need of the process that they run in, beside their arguments. */
import type { Database } from '../platform/infra/postgres/database.ts';
import type { Vault } from '../platform/infra/vault.ts';

/** For commands that need Postgres alone. */
export interface DatabaseDeps {
  database: Database;
}

export interface Platform extends DatabaseDeps {
  vault: Vault;
}

/** For what hands out addresses of this service, such as a certificate's. */
export interface AddressedPlatform extends Platform {
  /** Where callers reach the API, without a slash at the end. */
  publicUrl: string;
  /** Where classrooms are, without a slash at the end; `{slug}` stands for the club's. */
  classroomUrl: string;
}
